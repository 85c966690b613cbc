// Kubernetes in one binary, which is compiled and linked once: it is the program that it is called by (a link named kubelet), or the
// one that its first argument names. Each entry does what the main function of that program does in k8s.io/kubernetes/cmd.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	_ "time/tzdata" // the time zones of CronJobs

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // the sign-in plugins of kubectl
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"          // the JSON log format
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // metrics of clients
	_ "k8s.io/component-base/metrics/prometheus/version"  // the version as a metric
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlUtil "k8s.io/kubectl/pkg/cmd/util"
	apiServer "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllerManager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubeadm "k8s.io/kubernetes/cmd/kubeadm/app"
	kubeadmErrors "k8s.io/kubernetes/cmd/kubeadm/app/util/errors"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var programs = map[string]func(){
	"kube-apiserver":          func() { runDaemon(apiServer.NewAPIServerCommand()) },
	"kube-controller-manager": func() { runDaemon(controllerManager.NewControllerManagerCommand()) },
	"kube-proxy":              func() { runDaemon(proxy.NewProxyCommand()) },
	"kube-scheduler":          func() { runDaemon(scheduler.NewSchedulerCommand()) },
	"kubelet":                 func() { runDaemon(kubelet.NewKubeletCommand(context.Background())) },
	"kubeadm":                 runKubeadm,
	"kubectl":                 runKubectl,
}

func main() {
	run, known := programs[filepath.Base(os.Args[0])]
	if !known && len(os.Args) > 1 {
		os.Args = os.Args[1:]
		run, known = programs[os.Args[0]]
	}
	if !known {
		fmt.Fprintln(os.Stderr, "call this binary by a link named as a Kubernetes program, or name the program as its first argument.")
		os.Exit(2)
	}
	run()
}

func runDaemon(command *cobra.Command) {
	os.Exit(cli.Run(command))
}

func runKubeadm() {
	dropGlobalFlags()
	kubeadmErrors.HandleError(kubeadm.Run())
}

func runKubectl() {
	dropGlobalFlags()
	// kubectl logs while its command is put together, before flags are parsed.
	logs.GlogSetter(kubectl.GetLogVerbosity(os.Args)) // nolint:errcheck
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlUtil.CheckErr(err)
	}
}

// dropGlobalFlags forgets the flags that packages of the daemons register globally: kubeadm and kubectl would offer them all.
func dropGlobalFlags() {
	flag.CommandLine = flag.NewFlagSet(os.Args[0], flag.ExitOnError)
	pflag.CommandLine = pflag.NewFlagSet(os.Args[0], pflag.ExitOnError)
}
