package workspace_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rye-os/rye"
)

const many = 2000

// crowd is a project with many signed knowledge entries of about 4 KiB.
func crowd(b *testing.B) *person {
	b.Helper()
	p := newPerson(b)
	if _, err := p.Init(b.Context(), rye.Terminal(), rye.InitRequest{Dir: p.dir, Namespace: "acme"}); err != nil {
		b.Fatal(err)
	}
	p.enter(p.dir)
	for i := range many {
		dir := fmt.Sprintf("acme/s%03d", i/250)
		p.write(fmt.Sprintf("knowledge/%s/k%05d.md", dir, i), fmt.Sprintf(
			"---\nid: k%05d\ntitle: Entry %d\nversion: 1.0.0\nentry_type: reference\ncategory: %s\ndescription: entry number %d\ntags: [a, b]\n---\n\n%s\n",
			i, i, dir, i, strings.Repeat(fmt.Sprintf("word%d lorem ipsum dolor sit amet, consectetur. ", i), 60+i%40)))
	}
	if _, err := p.Sign(b.Context(), rye.Terminal(), rye.SignRequest{All: true}); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkTrust takes in a project that came from elsewhere: every item read,
// verified and recorded in one commit.
func BenchmarkTrust(b *testing.B) {
	p := crowd(b)
	benchUnrecorded(b, p, func() {
		if rep, err := p.Trust().Statement(b.Context(), rye.Terminal(), rye.TrustRequest{}); err != nil || rep.Recorded != many {
			b.Fatal(err)
		}
	})
}

// BenchmarkAdd records a folder of items that are there already.
func BenchmarkAdd(b *testing.B) {
	p := crowd(b)
	benchUnrecorded(b, p, func() {
		if _, err := p.Add(b.Context(), rye.Terminal(), rye.AddRequest{Path: p.path(".")}); err != nil {
			b.Fatal(err)
		}
	})
}

// benchUnrecorded measures take for a project whose store is gone.
func benchUnrecorded(b *testing.B, p *person, take func()) {
	for b.Loop() {
		b.StopTimer()
		if err := os.RemoveAll(p.record()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		take()
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/many, "µs/item")
}

func BenchmarkStatus(b *testing.B) {
	p := crowd(b)
	for b.Loop() {
		if all, err := p.Status(b.Context(), rye.Terminal()); err != nil || len(all) != many {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/many, "µs/item")
}

func BenchmarkExecute(b *testing.B) {
	p := newPerson(b)
	if _, err := p.Init(b.Context(), rye.Terminal(), rye.InitRequest{Dir: p.dir, Namespace: "acme"}); err != nil {
		b.Fatal(err)
	}
	p.enter(p.dir)
	p.write("tools/acme/greet.sh", greet)
	p.sign("*")
	for b.Loop() {
		if _, err := p.run("tool:acme/greet", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSignDurable4KiB signs one item of 4 KiB: the file is written and synced, and
// the commit is durable. BenchmarkSign4KiB in objects/trust is the same in memory.
func BenchmarkSignDurable4KiB(b *testing.B) {
	p := newPerson(b)
	if _, err := p.Init(b.Context(), rye.Terminal(), rye.InitRequest{Dir: p.dir, Namespace: "acme"}); err != nil {
		b.Fatal(err)
	}
	p.enter(p.dir)
	n := 0
	for b.Loop() {
		n++
		p.write("knowledge/acme/entry.md", fmt.Sprintf("---\nid: entry\ntitle: Entry %d\nversion: 1.0.0\nentry_type: reference\ncategory: acme\n---\n\n%s\n",
			n, strings.Repeat("lorem ipsum dolor sit amet. ", 140)))
		if _, err := p.Sign(b.Context(), rye.Terminal(), rye.SignRequest{Targets: []rye.Target{"knowledge:acme/entry"}}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkVerifyAll reads, verifies and judges every item of a project.
func BenchmarkVerifyAll(b *testing.B) {
	p := crowd(b)
	for b.Loop() {
		all, err := p.Verify(b.Context(), rye.Terminal(), rye.VerifyRequest{Explain: false})
		if err != nil || len(all) < many {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/many, "µs/item")
}
