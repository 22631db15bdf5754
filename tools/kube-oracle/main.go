// Random pods and nodes, and what the filters of the real kube-scheduler say about every pair of them.
//
//	go run . --seed 1 --cases 20000 > cases.jsonl
//
// writes one world a line: the objects as the API server would hold them, and a verdict for each probe and node.
// `cargo xtask oracle kube cases.jsonl` compares. Other versions of Kubernetes: -modfile=go-1.36.mod, and
// -modfile=go-1.34.mod -tags kube134.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

func main() {
	seed := flag.Int64("seed", 1, "the first world; the others follow from it")
	cases := flag.Int("cases", 20000, "pairs of a pod and a node, at least")
	small := flag.Bool("small", false, "small worlds, for cases to keep")
	flag.Parse()
	if err := run(*seed, *cases, *small); err != nil {
		fmt.Fprintln(os.Stderr, "kube-oracle:", err)
		os.Exit(1)
	}
}

func run(seed int64, cases int, small bool) error {
	metrics.Register()
	if err := gates(); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	lines := json.NewEncoder(out)
	version, count := kubernetesVersion(), map[string]int{}
	for pairs := 0; pairs < cases; seed++ {
		w := newWorld(seed, small)
		w.Version = version
		verdicts, err := judge(context.Background(), w)
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		w.Verdicts = verdicts
		for _, row := range verdicts {
			pairs += len(row)
			for _, verdict := range row {
				count[verdict]++
			}
		}
		if err := lines.Encode(w); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, version, count)
	return out.Flush()
}

// kubernetesVersion is that of the module that is linked in.
func kubernetesVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, module := range info.Deps {
		if module.Path == "k8s.io/kubernetes" {
			return module.Version
		}
	}
	return "unknown"
}
