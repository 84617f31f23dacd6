package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye/chain/primitive"
)

const (
	bashTool   = "execute a signed, locked bash tool"
	pythonTool = "execute a signed, locked python tool"
)

// executeRows compare a tool with the program alone, as whole processes, and then each
// step of the sandbox with the previous one. rye has no setting for a weaker sandbox
// than the machine can give, so the steps run in this process.
func executeRows() []row {
	all := []row{
		{what: bashTool, peer: "bash script", setup: execute},
		{what: "execute rye/file-system/read", peer: "cat", setup: executeBuiltin},
		{what: "bash under S0, in this process", peer: "bash, os/exec", setup: sandboxed(primitive.S0)},
		{what: "bash under S1, in this process", peer: "bash under S0", setup: sandboxed(primitive.S1)},
		{what: "bash under S2, in this process", peer: "bash under S1", setup: sandboxed(primitive.S2)},
	}
	if _, err := exec.LookPath("bwrap"); err == nil {
		all = append(all,
			row{what: "bash under S3, in this process", peer: "bwrap --unshare-all bash", setup: caged},
			row{what: "the same, from a process of 300 MB", peer: "bwrap --unshare-all bash", setup: cagedFromLarge})
	}
	if _, err := exec.LookPath("python3"); err == nil {
		all = slices.Insert(all, 1, row{what: pythonTool, peer: "python3 script", setup: executePython})
	}
	return slices.DeleteFunc(all, func(r row) bool {
		return r.what == "bash under S1, in this process" && primitive.Best() < primitive.S1 ||
			r.what == "bash under S2, in this process" && primitive.Best() < primitive.S2
	})
}

func execute(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	return b.process(dir, "rye", "execute", "--locked", "tool:acme/bench"),
		b.process(dir, "bash", ".ai/tools/acme/bench.sh", "{}", dir), err
}

const pythonText = `"""What there is to measure."""
__version__ = "1.0.0"
__tool_type__ = "python"
__executor_id__ = "rye/core/runtimes/python_script_runtime"
__category__ = "acme"
__tool_description__ = "What there is to measure"

print("done")
`

func executePython(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	path := filepath.Join(dir, ".ai", "tools", "acme", "snake.py")
	err = errors.Join(err, os.WriteFile(path, []byte(pythonText), 0o644),
		b.do(dir, "rye", "sign", "tool:acme/snake"), b.do(dir, "rye", "lock", "--quiet", "tool:acme/snake"))
	python := first(b.output("python3", "-c", "import sys; print(sys.executable)")) // not the shim of a version manager
	return b.process(dir, "rye", "execute", "--locked", "tool:acme/snake"), b.process(dir, python, path), err
}

// executeBuiltin starts rye twice: the second process runs the function in its sandbox.
func executeBuiltin(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	return b.process(dir, "rye", "execute", "tool:rye/file-system/read", "-p", "path=.ai/tools/acme/bench.sh"),
		b.process(dir, "cat", ".ai/tools/acme/bench.sh"), err
}

// sandboxed compares bash in a degree of sandbox with the degree below; below S0 is os/exec.
func sandboxed(tier primitive.Tier) func(*bench, int) (side, side, error) {
	return func(b *bench, _ int) (side, side, error) {
		bash, err := exec.LookPath("bash")
		if err == nil {
			bash, err = filepath.EvalSymlinks(bash) // the kernel's rules use real paths
		}
		temp := filepath.Join(b.dir, "sandboxed")
		if err := errors.Join(err, os.MkdirAll(temp, 0o700)); err != nil {
			return nil, nil, err
		}
		args := []string{bash, "--noprofile", "--norc", "-c", "echo done"}
		at := func(t primitive.Tier) side {
			return inside(func() error {
				res, err := primitive.Run(b.ctx, primitive.Call{Argv: args, Temp: temp, Sandbox: primitive.Sandbox{Tier: t}}, nil, nil)
				if err == nil && string(res.Stdout) != "done\n" {
					err = fmt.Errorf("bash under %s: exit %d, output %q, %s", t, res.Exit, res.Stdout, clip(res.Stderr))
				}
				return err
			})
		}
		if tier == primitive.S0 {
			return at(tier), inside(func() error { return b.command(temp, args...).Run() }), nil
		}
		return at(tier), at(tier - 1), nil
	}
}

// cagedFromLarge is caged from a process with much memory, which starting a process must not copy.
func cagedFromLarge(b *bench, n int) (side, side, error) {
	ours, theirs, err := caged(b, n)
	if err != nil {
		return nil, nil, err
	}
	held := make([]byte, 300<<20)
	for i := 0; i < len(held); i += os.Getpagesize() {
		held[i] = 1
	}
	return func() (cost, error) {
		defer runtime.KeepAlive(held)
		return ours()
	}, theirs, nil
}

// caged compares bash in namespaces, without network, with the same in bubblewrap.
func caged(b *bench, _ int) (side, side, error) {
	program := filepath.Join(b.bin, "rye-cage")
	id, err := b.command(b.dir, program, "--build-id").Output()
	if err != nil {
		return nil, nil, err
	}
	primitive.UseCage(func() primitive.Cage {
		return primitive.Cage{Program: program, Build: strings.TrimSpace(string(id)), Keep: true}
	})
	args := []string{"/bin/bash", "--noprofile", "--norc", "-c", "echo done"}
	if args[0], err = filepath.EvalSymlinks(args[0]); err != nil {
		return nil, nil, err
	}
	ours := inside(func() error {
		res, err := primitive.Run(b.ctx, primitive.Call{Argv: args, Temp: primitive.RunTemp, Sandbox: primitive.Sandbox{Tier: primitive.S3}}, nil, nil)
		if err == nil && string(res.Stdout) != "done\n" {
			err = fmt.Errorf("bash under S3: exit %d, output %q, %s", res.Exit, res.Stdout, clip(res.Stderr))
		}
		return err
	})
	bwrap := []string{"bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"}
	for _, dir := range []string{"/usr", "/etc", "/opt", "/bin", "/sbin", "/lib", "/lib64"} {
		if to, err := os.Readlink(dir); err == nil {
			bwrap = append(bwrap, "--symlink", to, dir)
		} else if _, err := os.Stat(dir); err == nil {
			bwrap = append(bwrap, "--ro-bind", dir, dir)
		}
	}
	return ours, inside(func() error { return b.command(b.dir, append(bwrap, args...)...).Run() }), nil
}

// shares prints the parts of the time to execute the tool, as medians. rye reports most of
// them; the rest is the start and the end of the process.
func (b *bench) shares(runs int) error {
	dir, err := b.project(100)
	if err != nil {
		return err
	}
	names := []string{"start", "verify", "gate", "materialise", "sandbox", "spawn", "run", "rest"}
	took := map[string][]time.Duration{}
	for range runs {
		begun := time.Now()
		out, err := b.command(dir, "rye", "execute", "--locked", "--json", "tool:acme/bench").Output()
		whole := time.Since(begun)
		var res struct {
			Metadata struct {
				MS      float64 `json:"duration_ms"`
				Timings map[string]float64
			}
		}
		if err = errors.Join(err, json.Unmarshal(out, &res)); err != nil {
			return fmt.Errorf("shares of an execution: %w: %s", err, clip(out))
		}
		for part, v := range res.Metadata.Timings {
			took[part] = append(took[part], fromMS(v))
		}
		took["start"] = append(took["start"], whole-fromMS(res.Metadata.MS))
	}
	parts, sum := map[string]time.Duration{}, time.Duration(0)
	for _, n := range names {
		if len(took[n]) != runs {
			return fmt.Errorf("shares of an execution: rye told the part %q %d times in %d runs", n, len(took[n]), runs)
		}
		slices.Sort(took[n])
		parts[n] = took[n][runs/2]
		sum += parts[n]
	}
	fmt.Printf("\n%s, medians of its parts, %s together (start is start and end of the process):\n ", bashTool, ms(sum))
	for _, n := range names {
		fmt.Printf("  %s %s (%.0f %%)", n, ms(parts[n]), 100*float64(parts[n])/float64(sum))
	}
	fmt.Println()
	return nil
}

func fromMS(v float64) time.Duration { return time.Duration(v * float64(time.Millisecond)) }
