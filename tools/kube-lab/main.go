// Command kube-lab is a Kubernetes control plane in one file, for tests and demonstrations:
//
//	kube-lab COMPONENT [FLAGS]
//
// where COMPONENT is etcd, kube-apiserver, kube-scheduler, kube-controller-manager or kubectl, each as its own
// project builds it.
//
// With KUBE_LAB_LEASH=stdin in its environment a server ends when its standard input does: whoever started it
// holds the other end of a pipe, and no server outlives a starter that was killed.
package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	_ "time/tzdata" // spec.timeZone of CronJobs, on hosts without time zones

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // what the servers tell under /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// A component runs with os.Args as if it were a program of its own, and returns its exit code.
type component struct {
	run    func() int
	server bool
}

func components() map[string]component {
	return map[string]component{
		"etcd": {server: true, run: func() int {
			etcdmain.Main(os.Args)
			return 0
		}},
		"kube-apiserver":          {server: true, run: func() int { return cli.Run(apiserver.NewAPIServerCommand()) }},
		"kube-scheduler":          {server: true, run: func() int { return cli.Run(scheduler.NewSchedulerCommand()) }},
		"kube-controller-manager": {server: true, run: func() int { return cli.Run(controllers.NewControllerManagerCommand()) }},
		"kubectl":                 {run: func() int { return cli.Run(kubectl.NewDefaultKubectlCommand()) }},
	}
}

func main() {
	all := components()
	if len(os.Args) < 2 {
		usage(all)
	}
	chosen, known := all[os.Args[1]]
	if !known {
		usage(all)
	}
	if chosen.server && os.Getenv("KUBE_LAB_LEASH") == "stdin" {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin) // an end and a failure are the same to us
			os.Exit(0)
		}()
	}
	os.Args = os.Args[1:]
	os.Exit(chosen.run())
}

func usage(all map[string]component) {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	sort.Strings(names)
	fmt.Fprintf(os.Stderr, "usage: kube-lab COMPONENT [FLAGS]\ncomponents: %s\n", strings.Join(names, ", "))
	os.Exit(2)
}
