package primitive

import (
	"os"
	"os/exec"
	"testing"
)

// The peer is bash alone, started by os/exec in the same run: only the difference
// counts. Goal of DESIGN §14: S2 adds at most 3 ms.
func BenchmarkBash(b *testing.B) {
	b.Run("os-exec", func(b *testing.B) {
		sh := program(b, "bash")
		for b.Loop() {
			if err := exec.Command(sh, "--noprofile", "--norc", "-c", "true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, tier := range []Tier{S0, S1, S2} {
		if tier > Best() {
			continue
		}
		b.Run(tier.String(), func(b *testing.B) {
			c := bash(b, "true")
			c.Sandbox.Tier = tier
			for b.Loop() {
				mustRun(b, c)
			}
		})
	}
	b.Run("S3", func(b *testing.B) {
		if Best() < S2 {
			b.Skip("no S2 here, on which S3 builds")
		}
		self, err := os.Executable()
		if err != nil {
			b.Fatal(err)
		}
		Reenter(self)
		defer Reenter("")
		c := bash(b, "true")
		c.Sandbox.Tier = S3
		if _, err := Run(b.Context(), c, nil, nil); err != nil {
			b.Skip(err)
		}
		for b.Loop() {
			mustRun(b, c)
		}
	})
	b.Run("S2-project", func(b *testing.B) {
		c := bash(b, "true")
		dir := temp(b)
		c.Sandbox = Sandbox{Tier: Best(), Exec: []string{dir}, Write: []string{dir}, Protect: []string{dir + "/.ai"}}
		if err := AdoptOrphans(); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			mustRun(b, c)
		}
	})
}

func BenchmarkMaterialise(b *testing.B) {
	dir := temp(b)
	files := []File{{Path: "acme/hello.sh", Data: make([]byte, 4<<10)}, {Path: "runtime.yaml", Data: make([]byte, 1<<10)}}
	for b.Loop() {
		r, err := Materialise(dir, files)
		if err != nil {
			b.Fatal(err)
		}
		r.Remove()
	}
}
