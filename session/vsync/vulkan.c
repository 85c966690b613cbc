/*
 * Implicit Vulkan layer: presents of swapchains in a FIFO mode wait for the display's refresh. Lavapipe
 * copies pictures to the X server and waits for nothing.
 */
#include "pacing.h"

#include <pthread.h>
#include <string.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

enum { MAX_OBJECTS = 32 };

/* An instance or device by its dispatch table, which its queues share, and the next layer's functions. */
typedef struct {
  void *key;
  VkInstance instance;
  PFN_vkGetInstanceProcAddr instanceProc;
  PFN_vkGetDeviceProcAddr deviceProc;
  PFN_vkQueuePresentKHR present; /* NULL without the swapchain extension */
} Next;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Next nexts[MAX_OBJECTS];
static int nextCount;

static void *keyOf(const void *handle) { return *(void *const *)handle; }

/* Tables of destroyed objects are reused, so the newest entry counts and replaces older ones. */
static void addNext(Next next) {
  pthread_mutex_lock(&lock);
  int at = 0;
  while (at < nextCount && nexts[at].key != next.key) at++;
  if (at == nextCount) at = nextCount < MAX_OBJECTS ? nextCount++ : 0;
  nexts[at] = next;
  pthread_mutex_unlock(&lock);
}

static Next nextOf(const void *handle) {
  Next found = {0};
  pthread_mutex_lock(&lock);
  for (int i = 0; i < nextCount; i++)
    if (nexts[i].key == keyOf(handle)) found = nexts[i];
  pthread_mutex_unlock(&lock);
  return found;
}

static VKAPI_ATTR VkResult VKAPI_CALL createInstance(const VkInstanceCreateInfo *info,
                                                     const VkAllocationCallbacks *allocator,
                                                     VkInstance *instance) {
  VkLayerInstanceCreateInfo *link = (VkLayerInstanceCreateInfo *)info->pNext;
  while (link && (link->sType != VK_STRUCTURE_TYPE_LOADER_INSTANCE_CREATE_INFO ||
                  link->function != VK_LAYER_LINK_INFO))
    link = (VkLayerInstanceCreateInfo *)link->pNext;
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr next = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  PFN_vkCreateInstance create = (PFN_vkCreateInstance)next(NULL, "vkCreateInstance");
  VkResult result = create ? create(info, allocator, instance) : VK_ERROR_INITIALIZATION_FAILED;
  if (result == VK_SUCCESS)
    addNext((Next){.key = keyOf(*instance), .instance = *instance, .instanceProc = next});
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL createDevice(VkPhysicalDevice physical, const VkDeviceCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkDevice *device) {
  VkLayerDeviceCreateInfo *link = (VkLayerDeviceCreateInfo *)info->pNext;
  while (link &&
         (link->sType != VK_STRUCTURE_TYPE_LOADER_DEVICE_CREATE_INFO || link->function != VK_LAYER_LINK_INFO))
    link = (VkLayerDeviceCreateInfo *)link->pNext;
  if (!link) return VK_ERROR_INITIALIZATION_FAILED;
  PFN_vkGetInstanceProcAddr instanceProc = link->u.pLayerInfo->pfnNextGetInstanceProcAddr;
  PFN_vkGetDeviceProcAddr deviceProc = link->u.pLayerInfo->pfnNextGetDeviceProcAddr;
  link->u.pLayerInfo = link->u.pLayerInfo->pNext;
  PFN_vkCreateDevice create = (PFN_vkCreateDevice)instanceProc(nextOf(physical).instance, "vkCreateDevice");
  VkResult result = create ? create(physical, info, allocator, device) : VK_ERROR_INITIALIZATION_FAILED;
  if (result == VK_SUCCESS)
    addNext((Next){.key = keyOf(*device),
                   .deviceProc = deviceProc,
                   .present = (PFN_vkQueuePresentKHR)deviceProc(*device, "vkQueuePresentKHR")});
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL createSwapchain(VkDevice device, const VkSwapchainCreateInfoKHR *info,
                                                      const VkAllocationCallbacks *allocator,
                                                      VkSwapchainKHR *swapchain) {
  PFN_vkCreateSwapchainKHR create =
      (PFN_vkCreateSwapchainKHR)nextOf(device).deviceProc(device, "vkCreateSwapchainKHR");
  VkResult result = create(device, info, allocator, swapchain);
  int isPaced =
      info->presentMode == VK_PRESENT_MODE_FIFO_KHR || info->presentMode == VK_PRESENT_MODE_FIFO_RELAXED_KHR;
  if (result == VK_SUCCESS) setSwapInterval((uint64_t)*swapchain, isPaced);
  return result;
}

static VKAPI_ATTR VkResult VKAPI_CALL queuePresent(VkQueue queue, const VkPresentInfoKHR *info) {
  VkResult result = nextOf(queue).present(queue, info);
  for (uint32_t i = 0; i < info->swapchainCount; i++) waitForRefresh((uint64_t)info->pSwapchains[i]);
  return result;
}

static PFN_vkVoidFunction instanceFunction(VkInstance instance, const char *name);

static PFN_vkVoidFunction deviceFunction(VkDevice device, const char *name) {
  if (strcmp(name, "vkGetDeviceProcAddr") == 0) return (PFN_vkVoidFunction)deviceFunction;
  Next next = nextOf(device);
  if (next.present && strcmp(name, "vkCreateSwapchainKHR") == 0) return (PFN_vkVoidFunction)createSwapchain;
  if (next.present && strcmp(name, "vkQueuePresentKHR") == 0) return (PFN_vkVoidFunction)queuePresent;
  return next.deviceProc(device, name);
}

static const struct {
  const char *name;
  PFN_vkVoidFunction function;
} replaced[] = {{"vkGetInstanceProcAddr", (PFN_vkVoidFunction)instanceFunction},
                {"vkGetDeviceProcAddr", (PFN_vkVoidFunction)deviceFunction},
                {"vkCreateInstance", (PFN_vkVoidFunction)createInstance},
                {"vkCreateDevice", (PFN_vkVoidFunction)createDevice},
                {"vkCreateSwapchainKHR", (PFN_vkVoidFunction)createSwapchain},
                {"vkQueuePresentKHR", (PFN_vkVoidFunction)queuePresent}};

static PFN_vkVoidFunction instanceFunction(VkInstance instance, const char *name) {
  for (size_t i = 0; i < sizeof replaced / sizeof *replaced; i++)
    if (strcmp(name, replaced[i].name) == 0) return replaced[i].function;
  return instance ? nextOf(instance).instanceProc(instance, name) : NULL;
}

/* Called by the loader, which finds this library by vsync.json. */
__attribute__((visibility("default"))) VKAPI_ATTR VkResult VKAPI_CALL
vkNegotiateLoaderLayerInterfaceVersion(VkNegotiateLayerInterface *interface) {
  interface->loaderLayerInterfaceVersion = 2;
  interface->pfnGetInstanceProcAddr = instanceFunction;
  interface->pfnGetDeviceProcAddr = deviceFunction;
  interface->pfnGetPhysicalDeviceProcAddr = NULL;
  return VK_SUCCESS;
}
