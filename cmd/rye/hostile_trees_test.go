//go:build unix

package main_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// hostileClone is one tree of a stranger's.
type hostileClone struct {
	name    string
	make    func(c *clone)
	slow    bool                      // large enough for a command to be interrupted in it
	foreign bool                      // it belongs to somebody else
	exit    func(args []string) []int // the statuses of a command; nil for any
}

// Helpers of generators. Paths are slash paths below the clone.

func (c *clone) at(path string) string { return filepath.Join(c.dir, filepath.FromSlash(path)) }

// beyond is a path outside of the clone, which no command may change or read.
func (c *clone) beyond(path string) string { return filepath.Join(c.v.top, "beyond", path) }

func (c *clone) up(path string) {
	must(c.v.t, os.MkdirAll(filepath.Dir(c.at(path)), 0o755))
}

func (c *clone) file(path, text string) {
	c.up(path)
	must(c.v.t, os.WriteFile(c.at(path), []byte(text), 0o644))
}

func (c *clone) executable(path string) {
	c.v.program(c.at(path), path)
}

func (c *clone) dirs(path string) { must(c.v.t, os.MkdirAll(c.at(path), 0o755)) }

// link puts a link in the place of whatever is there.
func (c *clone) link(path, target string) {
	c.up(path)
	os.RemoveAll(c.at(path))
	must(c.v.t, os.Symlink(target, c.at(path)))
}

// sparse makes a file of a size, without blocks.
func (c *clone) sparse(path string, size int64) {
	c.up(path)
	f, err := os.Create(c.at(path))
	must(c.v.t, err)
	must(c.v.t, f.Truncate(size))
	must(c.v.t, f.Close())
}

func (c *clone) fifo(paths ...string) {
	for _, path := range paths {
		c.up(path)
		os.RemoveAll(c.at(path))
		must(c.v.t, syscall.Mkfifo(c.at(path), 0o666))
	}
}

// socket leaves the file of a socket; its name is short enough when it is made from there.
func (c *clone) socket(path string) {
	c.up(path)
	os.RemoveAll(c.at(path))
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	must(c.v.t, err)
	defer syscall.Close(fd)
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: c.at(path)}); err != nil {
		c.no = "socket: " + err.Error()
	}
}

// device makes /dev/zero under other names.
func (c *clone) device(paths ...string) {
	for _, path := range paths {
		c.up(path)
		os.RemoveAll(c.at(path))
		if err := syscall.Mknod(c.at(path), syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
			c.no = "mknod: " + err.Error()
			return
		}
	}
}

func projectText(id, more string) string {
	return "format: 1\nproject: " + id + "\nnamespace: acme\n" + more
}

var strangersID = strings.Repeat("e", 32)

// plain makes what every hostile project has beside its malice.
func (c *clone) plain() {
	c.file(".ai/rye.yaml", projectText(strangersID, ""))
	c.file(".ai/.gitignore", "/threads/\n")
	c.file(".ai/tools/acme/hello.sh", strings.Replace(attackTool, "echo it ran", "echo tool >> "+filepath.Join(c.v.top, "log", "called"), 1))
	c.file(".ai/directives/acme/greet.md", attackDirective)
	c.file(".ai/knowledge/acme/notes.md", attackNote)
	c.file("AGENTS.md", "# Agents\n")
}

// withPlain is a generator that begins with that.
func withPlain(more func(c *clone)) func(c *clone) {
	return func(c *clone) { c.plain(); more(c) }
}

// hostileClones lists the trees.
func hostileClones() []hostileClone {
	return slices.Concat(linkedClones(), storeClones(), strangeFiles(), foreignClones(), proposals(), bombs(), oddNames(), hugeFiles(), structures(), gitClones(), programs(), bundleClones())
}

func linkedClones() []hostileClone {
	linked := func(name, path string, target func(c *clone) string) hostileClone {
		return hostileClone{name: name, make: withPlain(func(c *clone) { c.link(path, target(c)) })}
	}
	out := func(path string) func(*clone) string { return func(c *clone) string { return c.beyond(path) } }
	is := func(target string) func(*clone) string { return func(*clone) string { return target } }
	return []hostileClone{
		linked("AI directory as a link out", ".ai", out("ai")),
		linked("AI directory as a relative link", ".ai", is("../../beyond/ai")),
		linked("AI directory as a dangling link", ".ai", out("made")),
		linked("AI directory as a link to itself", ".ai", is(".ai")),
		{name: "AI directory as a link inside", make: func(c *clone) {
			c.plain()
			must(c.v.t, os.Rename(c.at(".ai"), c.at("ai")))
			c.link(".ai", "ai")
		}},
		linked("project file as a link", ".ai/rye.yaml", out("ai/rye.yaml")),
		linked("project file as a loop", ".ai/rye.yaml", is("rye.yaml")),
		linked("lock as a link", ".ai/rye.lock", out("victim.txt")),
		linked("lock as a link to a device", ".ai/rye.lock", is("/dev/zero")),
		linked("lock as a dangling link", ".ai/rye.lock", out("made.lock")),
		linked("policy as a link", ".ai/policy.yaml", out("victim.txt")),
		linked("signers as a link", ".ai/allowed_signers", out("victim.txt")),
		linked("signers as a dangling link", ".ai/allowed_signers", out("made.signers")),
		linked("denied as a link", ".ai/denied", out("victim.txt")),
		linked("ignore file as a dangling link", ".ai/.gitignore", out("made.ignore")),
		linked("attributes as a link", ".ai/.gitattributes", out("victim.txt")),
		linked("attributes as a dangling link", ".ai/.gitattributes", out("made.attributes")),
		linked("item as a link out", ".ai/knowledge/acme/notes.md", out("secret.md")),
		linked("item as a link inside", ".ai/knowledge/acme/notes.md", is("../../directives/acme/greet.md")),
		linked("item folder as a link out", ".ai/tools/acme", out("ai/tools/acme")),
		linked("item folder as a link inside", ".ai/tools/acme", is("../knowledge/acme")),
		linked("kind as a link out", ".ai/tools", out("ai/tools")),
		linked("kind as a link to the root", ".ai/tools", is("/")),
		linked("kind as a loop", ".ai/knowledge/loop", is("..")),
		linked("threads as a link", ".ai/threads", out("dir")),
		linked("temporary file as a link", ".ai/.rye-tmp-AAAA", out("dir")),
		linked("dotenv as a link", ".env", out("victim.txt")),
		linked("RYE OS lock files as a link", ".ai/lockfiles", out("dir")),
		{name: "hard links to the victim's files", make: withPlain(func(c *clone) {
			for _, path := range []string{".ai/rye.lock", ".ai/allowed_signers", ".ai/.gitattributes", ".ai/knowledge/acme/hard.md"} {
				os.Remove(c.at(path))
				if err := os.Link(c.beyond("victim.txt"), c.at(path)); err != nil {
					c.no = err.Error()
				}
			}
		})},
	}
}

// storeClones bring a record, or what a record of rye 0.1 was followed through (T1 to T3).
func storeClones() []hostileClone {
	store := ".ai/.rye/store.git"
	skeleton := func(c *clone) {
		for _, d := range []string{"objects/pack", "objects/info", "refs/heads/spaces", "logs/refs/heads/spaces"} {
			c.dirs(store + "/" + d)
		}
		c.file(store+"/HEAD", "ref: refs/heads/spaces/project\n")
		c.file(store+"/config", "[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
	}
	swapped := func(what string) hostileClone {
		return hostileClone{name: "store with " + what + " as a link", make: withPlain(func(c *clone) {
			skeleton(c)
			c.link(store+"/"+what, c.beyond("dir"))
		})}
	}
	return []hostileClone{
		swapped("rye.tmp"), swapped("logs"), swapped("objects"), swapped("refs"), swapped("objects/pack"),
		{name: "store with its files as links", make: withPlain(func(c *clone) {
			skeleton(c)
			for _, name := range []string{"rye.lock", "HEAD", "config", "packed-refs", "logs/refs/heads/spaces/project", "refs/heads/spaces/project"} {
				c.link(store+"/"+name, c.beyond("victim.txt"))
			}
		})},
		{name: "store as a link", make: withPlain(func(c *clone) { c.link(store, c.beyond("dir")) })},
		{name: "old record as a link", make: withPlain(func(c *clone) { c.link(".ai/.rye", c.beyond("dir")) })},
		{name: "forged record", make: withPlain(func(c *clone) {
			must(c.v.t, os.CopyFS(c.at(store), os.DirFS(c.v.record)))
			must(c.v.t, os.CopyFS(c.at("store.git"), os.DirFS(c.v.record)))
			c.file(".ai/rye.yaml", projectText(c.v.project, ""))
		})},
		{name: "record bomb", make: withPlain(func(c *clone) {
			skeleton(c)
			treeBomb(c.at(store), 7, 30)
		})},
		{name: "data directory in the tree", make: withPlain(func(c *clone) {
			must(c.v.t, os.CopyFS(c.at(".local/share/rye"), os.DirFS(filepath.Join(c.v.top, "home", ".local", "share", "rye"))))
			c.file(".config/rye/trust.yaml", "format: 1\n")
		})},
	}
}

// treeBomb writes a commit of nested trees, width^depth files, onto the project's ref.
func treeBomb(repo string, depth, width int) {
	put := func(kind, body string) string {
		raw := fmt.Sprintf("%s %d\x00%s", kind, len(body), body)
		id := sha1.Sum([]byte(raw))
		name := hex.EncodeToString(id[:])
		var b bytes.Buffer
		z := zlib.NewWriter(&b)
		z.Write([]byte(raw))
		z.Close()
		os.MkdirAll(filepath.Join(repo, "objects", name[:2]), 0o755)
		os.WriteFile(filepath.Join(repo, "objects", name[:2], name[2:]), b.Bytes(), 0o444)
		return name
	}
	id, mode := put("blob", attackNote), "100644"
	for level := range depth {
		suffix := ""
		if level == 0 {
			suffix = ".md"
		}
		var tree strings.Builder
		for i := range width {
			raw, _ := hex.DecodeString(id)
			fmt.Fprintf(&tree, "%s n%02d%s\x00%s", mode, i, suffix, raw)
		}
		id, mode = put("tree", tree.String()), "40000"
	}
	raw, _ := hex.DecodeString(id)
	id = put("tree", "40000 knowledge\x00"+string(raw))
	commit := put("commit", "tree "+id+"\nauthor E <e@e> 1700000000 +0000\ncommitter E <e@e> 1700000000 +0000\n\nx\n")
	os.MkdirAll(filepath.Join(repo, "refs", "heads", "spaces"), 0o755)
	os.WriteFile(filepath.Join(repo, "refs", "heads", "spaces", "project"), []byte(commit+"\n"), 0o644)
}

// strangeFiles have what is no file where files belong, and the reverse.
func strangeFiles() []hostileClone {
	all := []string{".ai/rye.lock", ".ai/policy.yaml", ".ai/allowed_signers", ".ai/denied", ".ai/.gitignore", ".ai/.gitattributes"}
	items := []string{".ai/knowledge/acme/notes.md", ".ai/tools/acme/hello.sh", ".ai/directives/acme/greet.md", ".ai/config/acme/x.yaml"}
	return []hostileClone{
		{name: "pipe as the project file", make: withPlain(func(c *clone) { c.fifo(".ai/rye.yaml") })},
		{name: "pipe as the AI directory", make: func(c *clone) { c.fifo(".ai") }},
		{name: "pipes as files", make: withPlain(func(c *clone) { c.fifo(all...) })},
		{name: "pipe as the lock", make: withPlain(func(c *clone) { c.fifo(".ai/rye.lock") })},
		{name: "pipe as signers", make: withPlain(func(c *clone) { c.fifo(".ai/allowed_signers", ".ai/.gitattributes") })},
		{name: "pipes as items", make: withPlain(func(c *clone) { c.fifo(items...) })},
		{name: "pipes as kinds", make: withPlain(func(c *clone) {
			c.fifo(".ai/tools", ".ai/knowledge", ".ai/directives", ".ai/bundles", ".ai/threads", ".env", "pyvenv.cfg")
		})},
		{name: "pipes as git's files", make: withPlain(func(c *clone) { c.fifo(".git/HEAD", ".git/config", ".git/index", ".git/packed-refs") })},
		{name: "sockets", make: withPlain(func(c *clone) { c.socket(".ai/rye.lock"); c.socket(".ai/knowledge/acme/notes.md") })},
		{name: "device as the project file", make: withPlain(func(c *clone) { c.device(".ai/rye.yaml") })},
		{name: "devices as files", make: withPlain(func(c *clone) { c.device(all...) })},
		{name: "devices as items", make: withPlain(func(c *clone) { c.device(items...) })},
		{name: "folder as the project file", make: withPlain(func(c *clone) { os.Remove(c.at(".ai/rye.yaml")); c.dirs(".ai/rye.yaml/x") })},
		{name: "folders as files", make: withPlain(func(c *clone) {
			for _, path := range all {
				os.Remove(c.at(path))
				c.dirs(path + "/x")
			}
		})},
		{name: "folders as items", make: withPlain(func(c *clone) {
			for _, path := range items {
				os.Remove(c.at(path))
				c.dirs(path + "/x")
			}
		})},
		{name: "file as the AI directory", make: func(c *clone) { c.file(".ai", "x\n") }},
		{name: "files as kinds", make: withPlain(func(c *clone) {
			for _, path := range []string{"tools", "knowledge", "directives", "config", "bundles", "threads", ".rye"} {
				os.RemoveAll(c.at(".ai/" + path))
				c.file(".ai/"+path, "x\n")
			}
		})},
		{name: "unreadable files", make: withPlain(func(c *clone) {
			c.file(".ai/rye.lock", "lock: 1\n")
			for _, path := range []string{".ai/rye.lock", ".ai/tools", ".ai/knowledge/acme/notes.md"} {
				must(c.v.t, os.Chmod(c.at(path), 0))
			}
		})},
		{name: "nothing but an empty project file", make: func(c *clone) { c.file(".ai/rye.yaml", "") }},
	}
}

// foreignClones are, or hold, projects of somebody else.
func foreignClones() []hostileClone {
	return []hostileClone{
		{name: "nested project", make: func(c *clone) {
			c.plain()
			inner := &clone{v: c.v, dir: c.at("vendor/inner")}
			inner.plain()
			inner.file(".ai/rye.yaml", projectText(c.v.project, ""))
			c.sub = "vendor/inner"
		}},
		{name: "project in an AI directory", make: func(c *clone) {
			c.plain()
			inner := &clone{v: c.v, dir: c.at(".ai/knowledge/acme")}
			inner.plain()
			c.sub = ".ai/knowledge/acme"
		}},
		{name: "project of root", foreign: true, make: withPlain(func(c *clone) {
			if os.Geteuid() != 0 {
				c.no = "only root can give files away"
			}
		})},
		{name: "project of another user", foreign: true, make: withPlain(func(c *clone) {
			if os.Geteuid() != 0 {
				c.no = "only root can give files away"
				return
			}
			must(c.v.t, filepath.WalkDir(c.dir, func(path string, _ os.DirEntry, err error) error { return os.Lchown(path, 61_238, 61_238) }))
			must(c.v.t, os.Chmod(c.dir, 0o777))
		})},
		{name: "id of the victim's own project", make: withPlain(func(c *clone) {
			c.file(".ai/rye.yaml", projectText(c.v.project, ""))
			raw, err := os.ReadFile(filepath.Join(c.v.top, "own", ".ai", "tools", "acme", "hello.sh"))
			must(c.v.t, err)
			c.file(".ai/tools/acme/hello.sh", strings.Replace(string(raw), "it ran", "altered", 1))
		})},
		{name: "impossible ids", make: withPlain(func(c *clone) { c.file(".ai/rye.yaml", projectText("../../../../beyond/victim.txt\x00", "")) })},
	}
}

// proposals name addresses that nobody agreed to.
func proposals() []hostileClone {
	var all []hostileClone
	address := func(name string, url func(c *clone) string) {
		all = append(all, hostileClone{name: "registry at " + name, make: withPlain(func(c *clone) { c.propose(url(c)) })})
	}
	for _, scheme := range []string{"http", "https", "git", "ssh", "git+ssh", "ftp", "ext"} {
		address(scheme, func(c *clone) string { return scheme + "://" + c.v.where + "/registry.git" })
	}
	address("ext transport", func(c *clone) string { return "ext::sh -c touch% " + c.beyond("ran") })
	address("user at host", func(c *clone) string { return "git@127.0.0.1:registry.git" })
	address("option", func(c *clone) string { return "--upload-pack=touch " + c.beyond("ran") })
	address("file", func(c *clone) string { return "file://" + c.beyond("dir") })
	address("relative path", func(c *clone) string {
		treeBomb(c.at("registry.git"), 4, 30)
		c.file("registry.git/HEAD", "ref: refs/heads/spaces/project\n")
		c.file("registry.git/config", hostileGitConfig(c))
		return "./registry.git"
	})
	return append(all, hostileClone{name: "forged lock without a registry", make: withPlain(func(c *clone) {
		c.file(".ai/rye.lock", lockText("", "../../../beyond/victim.txt"))
	})}, hostileClone{name: "lock in the middle of a merge", make: withPlain(func(c *clone) {
		c.file(".ai/rye.lock", "<<<<<<< ours\nlock: 1\n=======\nlock: 1\n>>>>>>> theirs\n")
	})})
}

const canaryID = "sha256:454349e422f05297191ead13e21d3db520e5abef52055e4964b82fb213f593a1"

// propose writes a registry, scopes, dependencies and a lock that pins items of it.
func (c *clone) propose(url string) {
	c.file(".ai/rye.yaml", projectText(strangersID, fmt.Sprintf("registries:\n  main:\n    url: %q\n    id: %s\nscopes:\n  \"*\": main\n  beta: main\ndeps:\n  beta/tool/fetch: ^1.0.0\n", url, canaryID)))
	c.file(".ai/rye.lock", lockText(url, "tools/beta/fetch.py"))
}

func lockText(url, path string) string {
	h64, h40 := strings.Repeat("ab", 32), strings.Repeat("cd", 20)
	text := "lock: 1\nstdlib:\n  version: 9.9.9\n  manifest: sha256:" + h64 + "\n  commit: " + h40 + "\n"
	from := "    space: project\n"
	if url != "" {
		text += fmt.Sprintf("registries:\n  main:\n    id: %s\n    url: %q\nnamespaces:\n  beta:\n    registry: main\n    seq: 41\n    tip: %s\n    sha256: %s\n", canaryID, url, h40, h64)
		from = "    from: main\n"
	}
	text += "items:\n  tool:beta/fetch:\n" + from + "    version: 1.4.0\n    path: " + path + "\n    sha256: " + h64 + "\n    blob: " + h40 + "\n"
	if url != "" {
		fp := "SHA256:" + strings.Repeat("A", 43)
		text += "    commit: " + h40 + "\n    author: " + fp + "\n    publisher: " + fp + "\n"
	}
	return text
}

// bombs are larger than they look.
func bombs() []hostileClone {
	many := func(c *clone, n int, path string, text string) {
		for i := range n {
			c.file(fmt.Sprintf(path, i), text)
		}
	}
	return []hostileClone{
		{name: "4,000 items", slow: true, make: withPlain(func(c *clone) { many(c, 4000, ".ai/knowledge/acme/n%04d.md", attackNote) })},
		{name: "4,000 names that are no items", make: withPlain(func(c *clone) { many(c, 4000, ".ai/tools/acme/N %04d.exe", "x") })},
		{name: "4,000 folders", make: withPlain(func(c *clone) {
			for i := range 4000 {
				c.dirs(fmt.Sprintf(".ai/tools/d%02d/e%02d", i/64, i%64))
			}
		})},
		{name: "1,000 levels", make: withPlain(func(c *clone) { deepFolders(c.v.t, c.at(".ai/knowledge/acme"), 1000) })},
		{name: "1,000 levels in a bundle", make: withPlain(func(c *clone) {
			c.file(".ai/bundles/acme/pack/rye.bundle.yaml", manifestText(""))
			deepFolders(c.v.t, c.at(".ai/bundles/acme/pack"), 1000)
		})},
		{name: "threads of a thousand strangers", make: withPlain(func(c *clone) {
			for i := range 1000 {
				c.dirs(fmt.Sprintf(".ai/threads/01J%023d", i))
			}
			c.sparse(".ai/threads/01J00000000000000000000000/transcript.jsonl", 10<<30)
			c.file(".ai/threads/01J00000000000000000000001/transcript.jsonl", "\x00\xff\x1b]0;x\x07")
			c.file(".ai/threads/01J00000000000000000000002/transcript.md", strings.Repeat("[", 1<<20))
		})},
		{name: "50 items of 7 MiB", slow: true, make: withPlain(func(c *clone) {
			for i := range 50 {
				c.sparse(fmt.Sprintf(".ai/knowledge/acme/n%02d.md", i), 7<<20)
			}
		})},
		{name: "1,000 sparse items of 8 MiB", make: withPlain(func(c *clone) {
			for i := range 1000 {
				c.sparse(fmt.Sprintf(".ai/knowledge/acme/n%03d.md", i), 8<<20)
			}
		}), exit: func(args []string) []int {
			if args[0] == "status" || args[0] == "verify" {
				return []int{20}
			}
			return nil
		}},
		{name: "20 items of YAML", slow: true, make: withPlain(func(c *clone) {
			text := "version: \"1.0.0\"\nid: x\n" + strings.Repeat("- [a, b, {c: d}]\n", 20_000)
			many(c, 20, ".ai/knowledge/acme/y%02d.yaml", text)
		})},
		{name: "500 extractors", make: withPlain(func(c *clone) {
			many(c, 500, ".ai/config/acme/x%03d.yaml", "version: \"1.0.0\"\nextract: [{pattern: \"(a+)+$\"}]\n")
		})},
	}
}

// deepFolders makes folders within each other, deeper than a path can be long.
func deepFolders(t interface{ Fatal(...any) }, dir string, n int) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	for range n {
		if err == nil {
			err = root.Mkdir("d", 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		next, oerr := root.OpenRoot("d")
		root.Close()
		root, err = next, oerr
	}
	if err != nil {
		t.Fatal(err)
	}
	root.Close()
}

func oddNames() []hostileClone {
	named := func(name string, names ...string) hostileClone {
		return hostileClone{name: name, make: withPlain(func(c *clone) {
			for _, n := range names {
				for _, dir := range []string{".ai/knowledge/acme/", ".ai/tools/"} {
					c.up(dir + "x")
					if err := os.WriteFile(c.at(dir)+"/"+n, []byte(attackNote), 0o644); err != nil {
						c.no = err.Error()
					}
				}
			}
		})}
	}
	return []hostileClone{
		named("names of 255 bytes", strings.Repeat("a", 252)+".md", strings.Repeat("b", 255)),
		named("names that are not UTF-8", "\xff\xfe.md", "a\xc3.md", "\xed\xa0\x80.md"),
		named("names with line ends", "a\nb.md", "a\r.md", "\n.md", "status: signed\n.md"),
		named("names with escape sequences", "\x1b[2J\x1b[1;1Hall is well.md", "\x1b]0;title\x07.md", "\x9b2J.md", "\u202egnp.md", "\u200b.md"),
		named("names that differ in case", "Notes.md", "NOTES.md", "notes.MD", "K.md", "\u212a.md"),
		named("names that differ in form", "caf\u00e9.md", "cafe\u0301.md"),
		named("device names", "con.md", "NUL.md", "aux", "com1.yaml", "lpt9.sh", "CONIN$.md"),
		named("names with trailing dots and blanks", "a.md.", "a.md ", "a. .md", "x.md::$DATA"),
		named("names like the one above", "...", "..md", "..\\x.md", "%2e%2e.md", "-rf.md", "~.md", "*.md", "$(touch ran).md", "`id`.md"),
		named("names of rye and git", "rye.lock", ".git", "git~1.md", "head.lock", ".rye-tmp-x.md", "rye.bundle.yaml", "__pycache__.md"),
	}
}

// hugeFiles have no blocks.
func hugeFiles() []hostileClone {
	var all []hostileClone
	for _, path := range []string{".ai/rye.yaml", ".ai/rye.lock", ".ai/policy.yaml", ".ai/allowed_signers", ".ai/denied", ".ai/.gitattributes", ".ai/knowledge/acme/notes.md",
		".ai/tools/acme/hello.sh", ".ai/tools/acme/huge.yaml", ".ai/config/acme/x.yaml", ".env", ".ai/bundles/acme/pack/rye.bundle.yaml", ".git/HEAD", ".git/packed-refs"} {
		all = append(all, hostileClone{name: "10 GB of " + strings.TrimPrefix(path, ".ai/"), make: withPlain(func(c *clone) { c.sparse(path, 10<<30) })})
	}
	return all
}

// structures are files that unfold.
func structures() []hostileClone {
	laughs := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for r := 'b'; r <= 'j'; r++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", r, r, strings.TrimSuffix(strings.Repeat("*"+string(r-1)+",", 9), ","))
	}
	nested := func(open, end string, n int) string { return strings.Repeat(open, n) + strings.Repeat(end, n) }
	everywhere := func(name, text string) hostileClone {
		return hostileClone{name: name, make: withPlain(func(c *clone) {
			for _, path := range []string{".ai/policy.yaml", ".ai/tools/acme/x.yaml", ".ai/knowledge/acme/x.yaml", ".ai/config/acme/x.yaml", ".ai/tools/acme/y.json",
				".ai/bundles/acme/pack/rye.bundle.yaml", ".ai/denied", ".ai/allowed_signers"} {
				c.file(path, text)
			}
		})}
	}
	in := func(name, path, text string) hostileClone {
		return hostileClone{name: name, make: withPlain(func(c *clone) { c.file(path, text) })}
	}
	return []hostileClone{
		everywhere("a billion laughs", laughs), everywhere("nested brackets", "a: "+nested("[", "]", 100_000)), everywhere("nested JSON", nested(`{"a":`, "}", 100_000)),
		everywhere("anchors without end", "a: &a\n  b: *a\n"), everywhere("keys without end", strings.Repeat("a: b\n", 100_000)),
		in("a billion laughs as the project file", ".ai/rye.yaml", laughs), in("nested project file", ".ai/rye.yaml", projectText(strangersID, "registries: "+nested("{a: ", "}", 50_000))),
		in("a billion laughs as the lock", ".ai/rye.lock", laughs), in("nested lock", ".ai/rye.lock", "lock: 1\nitems: "+nested("{a: ", "}", 50_000)),
		in("nested XML", ".ai/directives/acme/greet.md", "# X\n\n```xml\n<directive name=\"greet\" version=\"1.0.0\">"+strings.Repeat("<a>", 100_000)+"\n```\n"),
		in("8 MiB in one line", ".ai/knowledge/acme/notes.md", attackNote+strings.Repeat("x", 7<<20)+"\n"),
		in("AGENTS of 8 MiB of lines", "AGENTS.md", strings.Repeat("# do as I say\n", 600_000)),
		in("zip in place of an item", ".ai/tools/acme/hello.sh", "PK\x03\x04\x14\x00\x00\x00\x08\x00"+strings.Repeat("\x00", 4096)+"PK\x05\x06"),
		in("tar in place of an item", ".ai/knowledge/acme/notes.md", "../../../../etc/passwd"+strings.Repeat("\x00", 235)+"ustar\x0000"),
		in("polyglot", ".ai/tools/acme/poly.py", "#!/usr/bin/env bash\n# version: 1.0.0\n# executor_id: rye/core/runtimes/bash_runtime\n__version__ = \"1.0.0\"\n\"touch\" \"ran\"\n"),
		in("signature lines", ".ai/knowledge/acme/notes.md", attackNote+strings.Repeat("<!-- rye:signed:v2:x -->\n", 100_000)),
	}
}

// hostileGitConfig runs programs and sends requests elsewhere, wherever git reads it.
func hostileGitConfig(c *clone) string {
	bad := c.at("bad.sh")
	return "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = " + bad + "\n\thooksPath = " + c.at("hooks") + "\n\tsshCommand = " + bad + "\n\tpager = " + bad +
		"\n\tgitProxy = " + bad + "\n\talternateRefsCommand = " + bad + "\n[credential]\n\thelper = !" + bad + "\n[include]\n\tpath = " + c.beyond("victim.txt") +
		"\n[alias]\n\tstatus = !" + bad + "\n[url \"http://" + c.v.where + "/\"]\n\tinsteadOf = https://\n\tinsteadOf = ssh://\n[http]\n\tproxy = http://" + c.v.where +
		"\n[filter \"x\"]\n\tclean = " + bad + "\n\tsmudge = " + bad + "\n\tprocess = " + bad + "\n[merge \"rye-lock\"]\n\tdriver = " + bad +
		"\n[gpg]\n\tprogram = " + bad + "\n[gpg \"ssh\"]\n\tprogram = " + bad + "\n[diff]\n\texternal = " + bad + "\n[uploadpack]\n\tpackObjectsHook = " + bad + "\n[extensions]\n\tworktreeConfig = true\n"
}

// repository makes a git repository in a folder, without asking git.
func (c *clone) repository(dir string) {
	c.executable("bad.sh")
	for _, hook := range []string{"post-checkout", "pre-commit", "reference-transaction", "fsmonitor-watchman"} {
		c.executable("hooks/" + hook)
		c.executable(dir + "/hooks/" + hook)
	}
	treeBomb(c.at(dir), 3, 10)
	c.file(dir+"/HEAD", "ref: refs/heads/spaces/project\n")
	c.file(dir+"/config", hostileGitConfig(c))
	c.file(dir+"/objects/info/alternates", c.beyond("dir")+"\n")
}

func gitClones() []hostileClone {
	return []hostileClone{
		{name: "hostile git configuration", make: withPlain(func(c *clone) { c.repository(".git") })},
		{name: "embedded bare repository", make: withPlain(func(c *clone) { c.repository(".") })},
		{name: "embedded bare repository in AI directory", make: withPlain(func(c *clone) { c.repository(".ai"); c.sub = ".ai" })},
		{name: "git file that points outside", make: withPlain(func(c *clone) { c.file(".git", "gitdir: "+c.beyond("dir")+"\n") })},
		{name: "git file that points at itself", make: withPlain(func(c *clone) { c.file(".git", "gitdir: .git\n") })},
		{name: "git directory as a link", make: withPlain(func(c *clone) { c.link(".git", c.beyond("dir")) })},
		{name: "worktree of a hostile repository", make: withPlain(func(c *clone) {
			c.repository("main.git")
			c.file(".git", "gitdir: "+c.at("main.git/worktrees/w")+"\n")
			c.file("main.git/worktrees/w/gitdir", c.at(".git")+"\n")
			c.file("main.git/worktrees/w/commondir", "../../../../../beyond/dir\n")
			c.file("main.git/worktrees/w/HEAD", "ref: refs/../../../../beyond/victim.txt\n")
		})},
		{name: "loops of symbolic refs", make: withPlain(func(c *clone) {
			c.repository(".git")
			c.file(".git/HEAD", "ref: refs/heads/a\n")
			c.file(".git/refs/heads/a", "ref: refs/heads/b\n")
			c.file(".git/refs/heads/b", "ref: refs/heads/a\n")
		})},
		{name: "submodules", make: withPlain(func(c *clone) {
			c.repository(".git")
			c.file(".gitmodules", "[submodule \"../../x\"]\n\tpath = -x\n\turl = ext::sh -c touch% ran\n\tupdate = !touch ran\n[submodule \"y\"]\n\tpath = .ai/tools\n\turl = http://"+c.v.where+"/y.git\n")
		})},
		{name: "attributes with filters", make: withPlain(func(c *clone) {
			c.repository(".git")
			c.file(".gitattributes", "* filter=x diff=x merge=rye-lock\n")
			c.file(".ai/.gitattributes", "* filter=x\n/rye.lock merge=x\n")
		})},
		{name: "victim's home as a project", make: func(c *clone) {
			c.plain()
			c.file(".bashrc", "x\n")
			c.file(".config/rye/policy.yaml", "policy: 1\nallow_legacy: true\n")
		}},
	}
}

// programs lie where something may look for one.
func programs() []hostileClone {
	return []hostileClone{
		{name: "programs on relative paths", make: withPlain(func(c *clone) {
			for _, dir := range []string{"", "relative/", ".ai/", ".ai/tools/acme/"} {
				for _, name := range append(programsWatched, "rye", "rye-engine", "rye-cage", "bwrap") {
					c.executable(dir + name)
				}
			}
		})},
		{name: "virtual environment with a false python", make: withPlain(func(c *clone) {
			for _, dir := range []string{".venv", "venv", ".ai/.venv"} {
				c.executable(dir + "/bin/python3")
				c.executable(dir + "/bin/python")
				c.file(dir+"/pyvenv.cfg", "home = "+c.at("relative")+"\n")
				c.file(dir+"/lib/python3.11/site-packages/x.pth", "import os; os.system('touch ran')\n")
			}
			c.file(".ai/tools/acme/hello.sh", strings.Replace(attackTool, "bash_runtime", "python_script_runtime", 1))
			c.file(".tool-versions", "python system\n")
		})},
		{name: "virtual environment of 10 GB", make: withPlain(func(c *clone) {
			c.sparse(".venv/bin/python3", 10<<30)
			must(c.v.t, os.Chmod(c.at(".venv/bin/python3"), 0o755))
			c.sparse(".venv/pyvenv.cfg", 10<<30)
			c.fifo("venv/pyvenv.cfg", "venv/bin/python3")
		})},
		{name: "node modules", make: withPlain(func(c *clone) {
			for _, name := range []string{"node", "bash", "git", "tsx"} {
				c.executable("node_modules/.bin/" + name)
				c.executable(".ai/node_modules/.bin/" + name)
			}
			c.file("package.json", `{"scripts":{"preinstall":"touch ran"}}`)
		})},
		{name: "environment files", make: withPlain(func(c *clone) {
			text := "PATH=.\nLD_PRELOAD=./x.so\nRYE_KEY=x\nRYE_USER=" + c.beyond("ai") + "\nXDG_DATA_HOME=.\nGIT_SSH_COMMAND=touch ran\nBASH_ENV=./bad.sh\nHTTP_PROXY=http://" + c.v.where + "\n"
			for _, name := range []string{".env", ".env.local", ".envrc", ".ai/.env", ".ai/.envrc"} {
				c.file(name, text)
			}
			c.executable("bad.sh")
		})},
		{name: "settings of editors and agents", make: withPlain(func(c *clone) {
			for _, name := range []string{".mcp.json", ".vscode/tasks.json", ".vscode/mcp.json", ".claude/settings.json", ".cursor/mcp.json", ".codex/config.toml"} {
				c.file(name, `{"mcpServers":{"rye":{"command":"./bad.sh"}},"hooks":{"SessionStart":[{"command":"./bad.sh"}]}}`)
			}
			c.executable("bad.sh")
		})},
		{name: "leftovers with rye's names", make: withPlain(func(c *clone) {
			old := time.Now().Add(-48 * time.Hour)
			c.link(".ai/.rye-tmp-BBBB", c.beyond("dir"))
			c.link(".ai/tools/.rye-tmp-CCCC", c.beyond("victim.txt"))
			c.dirs(".ai/.rye-tmp-DDDD/x")
			c.link(".ai/rye-create-1", c.beyond("dir"))
			c.link(".ai/.rye-tmp-DDDD/y", c.beyond("dir"))
			must(c.v.t, os.Chtimes(c.at(".ai/.rye-tmp-DDDD"), old, old))
		})},
	}
}

func manifestText(files string) string {
	if files == "" {
		files = "\n  - {path: \"a.md\", mode: \"0644\", size: 9, sha256: \"" + strings.Repeat("ab", 32) + "\"}\n"
	}
	return "format: 1\nbundle:\n  id: acme/bundle/pack\n  version: 1.0.0\nfiles:" + files
}

func bundleClones() []hostileClone {
	const dir = ".ai/bundles/acme/pack"
	const zeros = "3b6a07d0d404fab4e23b6d34bc6696a6a312dd92821332385e5af7c01c421351" // of 64 MiB
	with := func(name, files string, more func(c *clone)) hostileClone {
		return hostileClone{name: "bundle " + name, make: withPlain(func(c *clone) {
			c.file(dir+"/rye.bundle.yaml", manifestText(files))
			more(c)
		})}
	}
	line := func(path string, size int64, sum string) string {
		return fmt.Sprintf("\n  - {path: %q, mode: \"0644\", size: %d, sha256: %q}", path, size, sum)
	}
	sum := strings.Repeat("ab", 32)
	var large string
	for i := range 12 {
		large += line(fmt.Sprintf("z%02d", i), 64<<20, zeros)
	}
	return []hostileClone{
		with("of files outside", line("../../../../../beyond/victim.txt", 9, sum)+line("/etc/passwd", 9, sum)+"\n", func(*clone) {}),
		with("of links", line("a.md", 9, sum)+line("b/c.md", 9, sum)+"\n", func(c *clone) { c.link(dir+"/a.md", c.beyond("victim.txt")); c.link(dir+"/b", c.beyond("dir")) }),
		with("of huge files", line("a.bin", 1<<62, sum)+"\n", func(c *clone) { c.sparse(dir+"/a.bin", 10<<30) }),
		with("of 12 sparse files of 64 MiB", large+"\n", func(c *clone) {
			for i := range 12 {
				c.sparse(fmt.Sprintf("%s/z%02d", dir, i), 64<<20)
			}
		}),
		with("with 3,000 files beside", "", func(c *clone) {
			for i := range 3000 {
				c.file(fmt.Sprintf("%s/f%04d.md", dir, i), attackNote)
			}
		}),
		{name: "bundle folder as a link", make: withPlain(func(c *clone) { c.link(dir, c.beyond("dir")) })},
		{name: "bundle manifest as a pipe", make: withPlain(func(c *clone) { c.fifo(dir + "/rye.bundle.yaml") })},
		{name: "bundles in bundles", make: withPlain(func(c *clone) {
			for i := range 12 {
				c.file(dir+strings.Repeat("/d", i)+"/rye.bundle.yaml", manifestText(""))
			}
		})},
	}
}
