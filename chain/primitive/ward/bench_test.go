package ward

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkWard measures a look before and one after a run that changes nothing, for each
// directory of the project (us/dir). The goal is 1.2 each where the cache is warm.
func BenchmarkWard(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		dir := project(b, gitDir(".git")...)
		for i := range n - 1 - n/20 {
			put(b, dir, fmt.Sprintf("d%02d/s%03d/main.go", i%(n/20+1), i), fmt.Sprintf("d%02d/s%03d/doc.md", i%(n/20+1), i))
		}
		time.Sleep(25 * time.Millisecond)
		o := Options{Project: dir, Cache: filepath.Join(b.TempDir(), "cache")}
		each := func(name string, f func(b *testing.B)) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				f(b)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n)/1000, "us/dir")
			})
		}
		each("cold", func(b *testing.B) {
			for b.Loop() {
				os.Remove(o.Cache)
				look(b, o)
			}
		})
		each("warm", func(b *testing.B) {
			look(b, o)
			for b.Loop() {
				look(b, o)
			}
		})
		each("after", func(b *testing.B) {
			w := look(b, o)
			for b.Loop() {
				if taken, err := w.After(context.Background(), nil, "/none"); err != nil || len(taken) > 0 {
					b.Fatal(taken, err)
				}
			}
		})
	}
}
