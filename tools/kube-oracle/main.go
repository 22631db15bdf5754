// Random pods and nodes, and what the filters of the real kube-scheduler say about every pair of them.
//
//	go run . --seed 1 --cases 20000 > cases.jsonl
//
// writes one world a line: the objects as the API server would hold them, and a verdict for each probe and node.
// `cargo xtask oracle kube cases.jsonl` compares. Other versions of Kubernetes: -modfile=go-1.36.mod -tags kube136, and
// -modfile=go-1.34.mod -tags kube134.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

func main() {
	seed := flag.Int64("seed", 1, "the first world; the others follow from it")
	cases := flag.Int("cases", 20000, "pairs of a pod and a node, at least")
	small := flag.Bool("small", false, "small worlds, for cases to keep")
	seeds := flag.String("seeds", "", "the worlds with these seeds, and no others (100003,100017)")
	flag.Parse()
	next := from(*seed)
	if *seeds != "" {
		next, *cases = each(strings.Split(*seeds, ",")), math.MaxInt
	}
	if err := run(next, *cases, *small); err != nil {
		fmt.Fprintln(os.Stderr, "kube-oracle:", err)
		os.Exit(1)
	}
}

// from is all seeds from this one on.
func from(seed int64) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for ; yield(seed, nil); seed++ {
		}
	}
}

func each(seeds []string) iter.Seq2[int64, error] {
	return func(yield func(int64, error) bool) {
		for _, text := range seeds {
			if !yield(strconv.ParseInt(text, 10, 64)) {
				return
			}
		}
	}
}

func run(seeds iter.Seq2[int64, error], cases int, small bool) error {
	metrics.Register()
	// The plug-ins log what they find odd, such as taints that are no numbers; here much is odd on purpose.
	klog.SetLogger(klog.Logger{})
	if err := gates(); err != nil {
		return err
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	lines := json.NewEncoder(out)
	version, count, pairs := kubernetesVersion(), map[string]int{}, 0
	for seed, err := range seeds {
		if err != nil {
			return err
		}
		w, err := read(newWorld(seed, small))
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
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
		if pairs >= cases {
			break
		}
	}
	fmt.Fprintln(os.Stderr, version, count)
	return out.Flush()
}

// read is the world as whoever reads its line has it: a list that is empty is none.
func read(w *world) (*world, error) {
	line, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	again := &world{}
	return again, json.Unmarshal(line, again)
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
