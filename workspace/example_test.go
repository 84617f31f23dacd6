package workspace_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/workspace"
)

// demo opens a workspace with a fresh project of the namespace acme, below a directory
// that the caller removes. Whatever is asked is answered with yes.
func demo() (w *workspace.Workspace, dir string) {
	dir, err := os.MkdirTemp("", "rye-example-")
	if err != nil {
		log.Fatal(err)
	}
	o := workspace.Options{
		User:      filepath.Join(dir, "user"),
		ConfigDir: filepath.Join(dir, "config"),
		DataDir:   filepath.Join(dir, "data"),
		StateDir:  filepath.Join(dir, "state"),
		CacheDir:  filepath.Join(dir, "cache"),
		Consent:   func(context.Context, rye.Question) (bool, error) { return true, nil },
	}
	project := filepath.Join(dir, "project")
	q := rye.InitRequest{Dir: project, Namespace: "acme"}
	if _, err := workspace.Open(o).Init(context.Background(), rye.Terminal(), q); err != nil {
		log.Fatal(err)
	}
	o.Project = project
	return workspace.Open(o), project
}

// write puts a file below the project's .ai.
func write(project, name, text string) {
	path := filepath.Join(project, ".ai", filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		log.Fatal(err)
	}
}

// note writes and signs a knowledge entry, and returns its ref.
func note(w *workspace.Workspace, project, text string) rye.Ref {
	write(project, "knowledge/acme/note.md", "---\nversion: 1.0.0\ntitle: Note\nentry_type: reference\ncategory: acme\n---\n"+text+"\n")
	ctx, me := context.Background(), rye.Terminal()
	if _, err := w.Sign(ctx, me, rye.SignRequest{Targets: []rye.Target{"knowledge:acme/note"}}); err != nil {
		log.Fatal(err, "; try: ", fault.HintOf(err))
	}
	ref, err := w.Ref(ctx, me, "knowledge:acme/note")
	if err != nil {
		log.Fatal(err)
	}
	return ref
}

// An item is used only as it was signed: a changed file is refused, by its code.
func Example() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	ref := note(w, project, "Ask before you deploy.")

	res, err := w.Load(ctx, me, rye.LoadRequest{Ref: ref})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(res.Body))

	path := filepath.Join(project, ".ai/knowledge/acme/note.md")
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	changed := strings.Replace(string(text), "Ask before", "Never ask when", 1)
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
		log.Fatal(err)
	}
	_, err = w.Load(ctx, me, rye.LoadRequest{Ref: ref})
	fmt.Println(fault.CodeOf(err), fault.Is(err, fault.Integrity), fault.Exit(err))
	// Output:
	// Ask before you deploy.
	// integrity true 10
}

// What a model follows is returned with its inputs filled in; what a tool does is run.
func ExampleWorkspace_Execute() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx := context.Background()
	ref := note(w, project, "Ask before you deploy.")

	res, err := w.Execute(ctx, rye.Client(), rye.ExecuteRequest{Ref: ref})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Status, res.Type, res.ItemID)
	fmt.Println(res.Instructions)

	// A caller holds exactly the capabilities that it is given.
	robot := rye.Program("robot", "rye.execute.tool.acme.*")
	_, err = w.Execute(ctx, robot, rye.ExecuteRequest{Ref: ref})
	fmt.Println(fault.CodeOf(err))
	// Output:
	// success knowledge acme/note
	// Use this knowledge to inform your decisions.
	// denied
}

// Nothing that changed since it was recorded is lost.
func ExampleWorkspace_History() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	ref := note(w, project, "First.")
	note(w, project, "Second.")

	entries, err := w.History().Log(ctx, me, rye.LogRequest{Ref: ref})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Subject)
	}
	write(project, "knowledge/acme/note.md", "emptied\n")
	if _, err := w.History().Restore(ctx, me, rye.RestoreRequest{Targets: []rye.Target{"knowledge:acme/note"}}); err != nil {
		log.Fatal(err)
	}
	res, err := w.Load(ctx, me, rye.LoadRequest{Ref: ref})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.TrimSpace(res.Body))
	// Output:
	// sign knowledge:acme/note
	// sign knowledge:acme/note
	// Second.
}

// A directory of files is signed as one.
func ExampleWorkspace_Bundles() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	write(project, "tools/acme/report/template.html", "<h1>{title}</h1>\n")
	write(project, "tools/acme/report/logo.svg", "<svg/>\n")

	dir := filepath.Join(project, ".ai/tools/acme/report")
	if _, err := w.Sign(ctx, me, rye.SignRequest{Targets: []rye.Target{rye.Target(dir)}}); err != nil {
		log.Fatal(err)
	}
	b, err := w.Bundles().Verify(ctx, me, rye.BundleVerifyRequest{Target: rye.Target(dir)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(b.ID, b.Version, len(b.Files), b.State)

	write(project, "tools/acme/report/logo.svg", "<svg onload='steal()'/>\n")
	b, err = w.Bundles().Verify(ctx, me, rye.BundleVerifyRequest{Target: rye.Target(b.ID)})
	fmt.Println(fault.CodeOf(err), b.Changed)
	// Output:
	// acme/bundle/tools/report 0.1.0 2 signed
	// integrity [logo.svg]
}

func ExampleWorkspace_Keys() {
	w, project := demo() // Init made the first key
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	if _, err := w.Keys().New(ctx, me, rye.KeyNewRequest{Name: "work", Passphrase: []byte("correct horse")}); err != nil {
		log.Fatal(err)
	}
	keys, err := w.Keys().List(ctx, me)
	if err != nil {
		log.Fatal(err)
	}
	for _, k := range keys {
		fmt.Println(k.Name, k.Protected)
	}
	// Output:
	// default false
	// work true
}

// Bytes that are denied are refused from then on, wherever they come from.
func ExampleWorkspace_Trust() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	ref := note(w, project, "Ask before you deploy.")
	res, err := w.Load(ctx, me, rye.LoadRequest{Ref: ref})
	if err != nil {
		log.Fatal(err)
	}
	q := rye.TrustDenyRequest{Subject: res.SHA256, Reason: "it is wrong"}
	if _, err := w.Trust().Deny(ctx, me, q); err != nil {
		log.Fatal(err)
	}
	_, err = w.Load(ctx, me, rye.LoadRequest{Ref: ref})
	fmt.Println(fault.CodeOf(err))
	// Output: revoked
}

func ExampleWorkspace_Locks() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	note(w, project, "Ask before you deploy.")
	rep, err := w.Locks().Lock(ctx, me, rye.LockRequest{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rep.Path, rep.Items, rep.Added)

	note(w, project, "Deploy when it is green.") // signed again, and its entry follows
	rep, err = w.Locks().Verify(ctx, me)
	fmt.Println(err, len(rep.Drift))
	// Output:
	// .ai/rye.lock 1 [knowledge:acme/note]
	// <nil> 0
}

// The policy can be asked before anything runs.
func ExampleWorkspace_Policy() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	ref, err := w.Ref(context.Background(), rye.Terminal(), "tool:rye/file-system/read")
	if err != nil {
		log.Fatal(err)
	}
	rep, err := w.Policy().Explain(ctx, me, rye.ItemRequest{Ref: ref})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rep.Tier, rep.Verdict, rep.Client)
	// Output: t0 allow allow
}

// A registry is a git repository; here it lies in a directory.
func ExampleWorkspace_Registry() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	note(w, project, "Ask before you deploy.")
	url := filepath.Join(filepath.Dir(project), "registry.git")
	if _, err := w.Registry().Init(ctx, me, rye.RegistryInitRequest{URL: url}); err != nil {
		log.Fatal(err)
	}
	rep, err := w.Registry().Push(ctx, me, rye.PushRequest{Targets: []rye.Target{"knowledge:acme/note"}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(rep.Namespace, rep.Published)
	// Output: acme [acme/knowledge/note@1.0.0]
}

func ExampleWorkspace_Upkeep() {
	w, project := demo()
	defer os.RemoveAll(filepath.Dir(project))
	ctx, me := context.Background(), rye.Terminal()
	note(w, project, "Ask before you deploy.")
	rep, err := w.Upkeep().Fsck(ctx, me, rye.FsckRequest{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range rep.Checks {
		fmt.Println(c.Name, c.OK)
	}
	// Output:
	// project space true
	// user space true
}
