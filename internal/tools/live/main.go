// Command live runs one cheap thread against each real service of models whose key is in
// the environment: a question that takes one call of a tool to answer. It costs a fraction
// of a cent each, needs the network, and is part of no test. `make live` runs it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// services are the services with a provider in the library.
var services = []struct{ name, variable, provider string }{
	{"Anthropic", "ANTHROPIC_API_KEY", "rye/agent/providers/anthropic"},
	{"OpenAI", "OPENAI_API_KEY", "rye/agent/providers/openai"},
}

// The question, and the answer, which is only in the file.
const (
	note     = "The parcel lies behind the juniper.\n"
	question = "Read the file note.txt of this project with a tool, and answer with one word: behind what does the parcel lie?"
	answer   = "juniper"
	spend    = "0.05" // dollars at most, for each
)

func main() {
	bin := flag.String("bin", "bin", "directory of the built programs")
	flag.Parse()
	failed := false
	for _, s := range services {
		if os.Getenv(s.variable) == "" {
			fmt.Printf("skipped: %s, no %s\n", s.name, s.variable)
			continue
		}
		if err := try(*bin, s.provider, s.variable); err != nil {
			fmt.Printf("FAILED: %s: %v\n", s.name, err)
			failed = true
			continue
		}
		fmt.Printf("ok: %s\n", s.name)
	}
	if failed {
		os.Exit(1)
	}
}

// try asks one service, in a new home and project.
func try(bin, provider, variable string) (err error) {
	rye, err := filepath.Abs(filepath.Join(bin, "rye"))
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "rye-live-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(project, "note.txt"), []byte(note), 0o644); err != nil {
		return err
	}
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1", variable + "=" + os.Getenv(variable)}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR"} {
		if v := os.Getenv(name); v != "" {
			env = append(env, name+"="+v)
		}
	}
	run := func(args ...string) (string, error) {
		cmd := exec.Command(rye, args...)
		cmd.Dir, cmd.Env, cmd.Stderr = project, env, os.Stderr
		out, err := cmd.Output()
		return string(out), err
	}
	if _, err := run("init", "--quiet"); err != nil {
		return err
	}
	said, err := run("ask", "--provider", provider, "--model", "fast", "--spend", spend, question)
	if err != nil {
		return err
	}
	fmt.Print(said)
	if !strings.Contains(strings.ToLower(said), answer) {
		return fmt.Errorf("the answer has no %q", answer)
	}
	return nil
}
