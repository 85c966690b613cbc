#define VK_USE_PLATFORM_XLIB_KHR
#include "displayprobe.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <vulkan/vulkan.h>

enum { MAX_DEVICES = 16, MAX_FAMILIES = 16, MAX_IMAGES = 16 };

static const unsigned long color = 0x2060c0;
static const uint64_t waitNs = 2000000000;

static struct {
  VkInstance instance;
  VkSurfaceKHR surface;
  VkPhysicalDevice physical;
  uint32_t family;
  VkDevice device;
  VkQueue queue;
  VkSwapchainKHR swapchain;
  VkImage images[MAX_IMAGES];
  VkCommandBuffer commands;
  VkFence fence;
  VkSemaphore drawn;
} vk;

static void check(VkResult result, const char *what) {
  if (result != VK_SUCCESS && result != VK_SUBOPTIMAL_KHR) fail(what);
}

static void makeInstance(bool hasDisplay) {
  const char *extensions[] = {VK_KHR_SURFACE_EXTENSION_NAME, VK_KHR_XLIB_SURFACE_EXTENSION_NAME};
  VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                   .apiVersion = VK_API_VERSION_1_0};
  VkInstanceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
      .pApplicationInfo = &application,
      .enabledExtensionCount = hasDisplay ? 2 : 0,
      .ppEnabledExtensionNames = extensions,
  };
  check(vkCreateInstance(&info, NULL, &vk.instance), "there is no Vulkan");
}

static void makeSurface(Display *display, Window window) {
  VkXlibSurfaceCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_XLIB_SURFACE_CREATE_INFO_KHR, .dpy = display, .window = window};
  check(vkCreateXlibSurfaceKHR(vk.instance, &info, NULL, &vk.surface), "there is no Vulkan surface");
}

/* Returns whether the device can present on the surface, and remembers its queue family. */
static bool canShow(VkPhysicalDevice device) {
  VkQueueFamilyProperties families[MAX_FAMILIES];
  uint32_t count = MAX_FAMILIES;
  vkGetPhysicalDeviceQueueFamilyProperties(device, &count, families);
  for (uint32_t family = 0; family < count; family++) {
    VkBool32 isSupported = VK_FALSE;
    vkGetPhysicalDeviceSurfaceSupportKHR(device, family, vk.surface, &isSupported);
    if (isSupported && families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) {
      vk.family = family;
      return true;
    }
  }
  return false;
}

static int rank(VkPhysicalDeviceType type) {
  return type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU     ? 3
         : type == VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU ? 2
         : type == VK_PHYSICAL_DEVICE_TYPE_CPU            ? 0
                                                          : 1;
}

static uint32_t listDevices(VkPhysicalDevice *devices) {
  uint32_t count = MAX_DEVICES;
  VkResult result = vkEnumeratePhysicalDevices(vk.instance, &count, devices);
  return result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0;
}

/* Prints the devices of Vulkan, whether or not they can present on a display. */
void printVulkanDevices(void) {
  VkPhysicalDevice devices[MAX_DEVICES];
  VkPhysicalDeviceProperties properties;
  makeInstance(false);
  uint32_t count = listDevices(devices);
  for (uint32_t i = 0; i < count; i++) {
    char name[32];
    snprintf(name, sizeof name, "vulkanDevice%u", i + 1);
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    printFinding(name, properties.deviceName);
  }
}

static void chooseDevice(void) {
  VkPhysicalDevice devices[MAX_DEVICES];
  VkPhysicalDeviceProperties properties;
  uint32_t count = listDevices(devices);
  int best = -1;
  for (uint32_t i = 0; i < count; i++) {
    vkGetPhysicalDeviceProperties(devices[i], &properties);
    if (rank(properties.deviceType) > best && canShow(devices[i])) {
      best = rank(properties.deviceType);
      vk.physical = devices[i];
    }
  }
  if (best < 0 || !canShow(vk.physical)) fail("no Vulkan device shows on this display");
  vkGetPhysicalDeviceProperties(vk.physical, &properties);
  printFinding("vulkanDevice", properties.deviceName);
}

static void makeDevice(void) {
  const char *extensions[] = {VK_KHR_SWAPCHAIN_EXTENSION_NAME};
  float priority = 1;
  VkDeviceQueueCreateInfo queue = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
      .queueFamilyIndex = vk.family,
      .queueCount = 1,
      .pQueuePriorities = &priority,
  };
  VkDeviceCreateInfo info = {
      .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
      .queueCreateInfoCount = 1,
      .pQueueCreateInfos = &queue,
      .enabledExtensionCount = 1,
      .ppEnabledExtensionNames = extensions,
  };
  check(vkCreateDevice(vk.physical, &info, NULL, &vk.device), "there is no Vulkan device");
  vkGetDeviceQueue(vk.device, vk.family, 0, &vk.queue);
}

static void makeSwapchain(int width, int height) {
  VkSurfaceCapabilitiesKHR able;
  check(vkGetPhysicalDeviceSurfaceCapabilitiesKHR(vk.physical, vk.surface, &able),
        "the Vulkan surface has no capabilities");
  VkSurfaceFormatKHR formats[64];
  uint32_t count = 64;
  vkGetPhysicalDeviceSurfaceFormatsKHR(vk.physical, vk.surface, &count, formats);
  VkSurfaceFormatKHR format = formats[0];
  for (uint32_t i = 0; i < count; i++)
    if (formats[i].format == VK_FORMAT_B8G8R8A8_UNORM) format = formats[i];
  VkSwapchainCreateInfoKHR info = {
      .sType = VK_STRUCTURE_TYPE_SWAPCHAIN_CREATE_INFO_KHR,
      .surface = vk.surface,
      .minImageCount = able.minImageCount,
      .imageFormat = format.format,
      .imageColorSpace = format.colorSpace,
      .imageExtent = {(uint32_t)width, (uint32_t)height},
      .imageArrayLayers = 1,
      .imageUsage = VK_IMAGE_USAGE_TRANSFER_DST_BIT,
      .imageSharingMode = VK_SHARING_MODE_EXCLUSIVE,
      .preTransform = able.currentTransform,
      .compositeAlpha = VK_COMPOSITE_ALPHA_OPAQUE_BIT_KHR,
      .presentMode = VK_PRESENT_MODE_FIFO_KHR,
      .clipped = VK_TRUE,
  };
  check(vkCreateSwapchainKHR(vk.device, &info, NULL, &vk.swapchain), "there is no Vulkan swapchain");
  count = MAX_IMAGES;
  vkGetSwapchainImagesKHR(vk.device, vk.swapchain, &count, vk.images);
}

static void makeCommands(void) {
  VkCommandPoolCreateInfo pool = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
      .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
      .queueFamilyIndex = vk.family,
  };
  VkCommandPool made;
  check(vkCreateCommandPool(vk.device, &pool, NULL, &made), "there is no command pool");
  VkCommandBufferAllocateInfo buffer = {
      .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
      .commandPool = made,
      .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
      .commandBufferCount = 1,
  };
  check(vkAllocateCommandBuffers(vk.device, &buffer, &vk.commands), "there is no command buffer");
  VkFenceCreateInfo fence = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  VkSemaphoreCreateInfo semaphore = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO};
  check(vkCreateFence(vk.device, &fence, NULL, &vk.fence), "there is no fence");
  check(vkCreateSemaphore(vk.device, &semaphore, NULL, &vk.drawn), "there is no semaphore");
}

static void transition(VkImage image, VkImageLayout from, VkImageLayout to) {
  VkImageMemoryBarrier barrier = {
      .sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
      .oldLayout = from,
      .newLayout = to,
      .image = image,
      .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
      .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
      .srcQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .dstQueueFamilyIndex = VK_QUEUE_FAMILY_IGNORED,
      .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1},
  };
  vkCmdPipelineBarrier(vk.commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0,
                       0, NULL, 0, NULL, 1, &barrier);
}

static void waitForFence(const char *what) {
  check(vkWaitForFences(vk.device, 1, &vk.fence, VK_TRUE, waitNs), what);
  vkResetFences(vk.device, 1, &vk.fence);
}

static void draw(void *nothing) {
  (void)nothing;
  uint32_t index = 0;
  check(vkAcquireNextImageKHR(vk.device, vk.swapchain, waitNs, VK_NULL_HANDLE, vk.fence, &index),
        "the swapchain gives no picture");
  if (index >= MAX_IMAGES) fail("the swapchain has too many pictures");
  waitForFence("the swapchain's picture does not become free");
  VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  VkClearColorValue clear = {.float32 = {0x20 / 255.0f, 0x60 / 255.0f, 0xc0 / 255.0f, 1}};
  VkImageSubresourceRange whole = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1};
  vkBeginCommandBuffer(vk.commands, &begin);
  transition(vk.images[index], VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
  vkCmdClearColorImage(vk.commands, vk.images[index], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, &clear, 1,
                       &whole);
  transition(vk.images[index], VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_PRESENT_SRC_KHR);
  vkEndCommandBuffer(vk.commands);
  VkSubmitInfo submit = {
      .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
      .commandBufferCount = 1,
      .pCommandBuffers = &vk.commands,
      .signalSemaphoreCount = 1,
      .pSignalSemaphores = &vk.drawn,
  };
  check(vkQueueSubmit(vk.queue, 1, &submit, vk.fence), "the picture cannot be drawn");
  VkPresentInfoKHR present = {
      .sType = VK_STRUCTURE_TYPE_PRESENT_INFO_KHR,
      .waitSemaphoreCount = 1,
      .pWaitSemaphores = &vk.drawn,
      .swapchainCount = 1,
      .pSwapchains = &vk.swapchain,
      .pImageIndices = &index,
  };
  check(vkQueuePresentKHR(vk.queue, &present), "the picture cannot be shown");
  waitForFence("the picture is not drawn in time");
}

/* Probes Vulkan as games use it: the device, whether a swapchain's images can be captured, and the time
 * per frame. */
void probeVulkan(Display *display, int timedFrames) {
  XVisualInfo wanted = {.screen = DefaultScreen(display),
                        .visualid = XVisualIDFromVisual(DefaultVisual(display, DefaultScreen(display)))};
  int count, width, height;
  XVisualInfo *visual = XGetVisualInfo(display, VisualScreenMask | VisualIDMask, &wanted, &count);
  if (!visual) fail("the display has no visual");
  makeInstance(true);
  makeSurface(display, openWindow(display, visual, &width, &height));
  chooseDevice();
  makeDevice();
  makeSwapchain(width, height);
  makeCommands();
  expectCaptured(display, "vulkanCapture", color, draw, NULL);
  timeFrames("vulkanFrameMs", timedFrames, draw, NULL);
  vkDeviceWaitIdle(vk.device);
  /* Ends the driver's thread that presents. It would otherwise use the display's connection after its end. */
  vkDestroySwapchainKHR(vk.device, vk.swapchain, NULL);
}
