// Command devicePlugin is a device plugin for tests. It offers the kubelet shares of a device that does not exist, so that what Kubernetes does
// with GPUs can be tested on a machine without a GPU. A container that gets shares sees the device, which is /dev/null by another name.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	api "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

const socketName = "joypod-test.sock"

type plugin struct {
	api.UnimplementedDevicePluginServer
	devices       []*api.Device
	containerPath string
	stopped       <-chan struct{}
}

func main() {
	resource := flag.String("resource", "", "extended resource that the shares are offered as")
	shares := flag.String("shares", "", "shares by node, as NODE=COUNT, several separated by commas")
	path := flag.String("device", "/dev/fakegpu0", "the device's path in containers")
	folder := flag.String("folder", api.DevicePluginPath, "folder of the kubelet's socket")
	flag.Parse()
	stopped, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	count, err := sharesOf(*shares, os.Getenv("NODE_NAME"))
	if err == nil {
		err = serve(stopped, *folder, *resource, newPlugin(count, *path, stopped.Done()))
	}
	if err != nil {
		log.Fatal(err)
	}
}

// sharesOf returns the count of the node; a node that is not named has none.
func sharesOf(list, node string) (int, error) {
	for _, pair := range strings.Split(list, ",") {
		name, count, _ := strings.Cut(pair, "=")
		if name == node {
			return strconv.Atoi(count)
		}
	}
	return 0, nil
}

func newPlugin(count int, containerPath string, stopped <-chan struct{}) *plugin {
	devices := make([]*api.Device, count)
	for index := range devices {
		devices[index] = &api.Device{ID: fmt.Sprintf("share-%d", index), Health: api.Healthy}
	}
	return &plugin{devices: devices, containerPath: containerPath, stopped: stopped}
}

// serve answers the kubelet until it is stopped. A kubelet that starts removes all sockets: then it returns an error, to be started again.
func serve(stopped context.Context, folder, resource string, own *plugin) error {
	socket := filepath.Join(folder, socketName)
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	api.RegisterDevicePluginServer(server, own)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	defer server.Stop()
	if err := register(stopped, folder, resource); err != nil {
		return err
	}
	log.Printf("offers %d of %s", len(own.devices), resource)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-stopped.Done():
			return nil
		case err := <-failed:
			return err
		case <-ticker.C:
			if _, err := os.Stat(socket); err != nil {
				return err
			}
		}
	}
}

func register(stopped context.Context, folder, resource string) error {
	connection, err := grpc.NewClient("unix://"+filepath.Join(folder, filepath.Base(api.KubeletSocket)), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer connection.Close()
	deadline, cancel := context.WithTimeout(stopped, 10*time.Second)
	defer cancel()
	_, err = api.NewRegistrationClient(connection).Register(deadline, &api.RegisterRequest{Version: api.Version, Endpoint: socketName, ResourceName: resource})
	return err
}

func (own *plugin) GetDevicePluginOptions(context.Context, *api.Empty) (*api.DevicePluginOptions, error) {
	return &api.DevicePluginOptions{}, nil
}

// ListAndWatch tells of the shares once, as nothing about them ever changes.
func (own *plugin) ListAndWatch(_ *api.Empty, stream grpc.ServerStreamingServer[api.ListAndWatchResponse]) error {
	if err := stream.Send(&api.ListAndWatchResponse{Devices: own.devices}); err != nil {
		return err
	}
	select {
	case <-own.stopped:
	case <-stream.Context().Done():
	}
	return nil
}

func (own *plugin) Allocate(_ context.Context, request *api.AllocateRequest) (*api.AllocateResponse, error) {
	response := &api.AllocateResponse{}
	for _, container := range request.ContainerRequests {
		response.ContainerResponses = append(response.ContainerResponses, &api.ContainerAllocateResponse{
			Devices: []*api.DeviceSpec{{ContainerPath: own.containerPath, HostPath: os.DevNull, Permissions: "rw"}},
			Envs:    map[string]string{"FAKE_GPU_SHARES": strings.Join(container.DevicesIds, ",")},
		})
	}
	return response, nil
}
