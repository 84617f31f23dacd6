package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// publish pushes all items of a project in one push to an empty registry, behind git's own
// http-backend. The peer is git's push of the same objects from that registry to another
// repository there. It finds them in one pack and copies them; it makes, signs and verifies
// nothing. Making the empty repositories is not measured.
func publish(b *bench, n int) (side, side, error) {
	p, err := b.openPublishing(n)
	if err != nil {
		return nil, nil, err
	}
	return p.ours, p.theirs(func(to string) side {
		return b.weighed(p.path(1), "git", "push", "--quiet", to, "refs/*:refs/*")
	}), nil
}

// publishMade is publish with another peer: git makes the same objects first, by fast-import.
func publishMade(b *bench, n int) (side, side, error) {
	p, err := b.openPublishing(n)
	if err != nil {
		return nil, nil, err
	}
	stream, made := filepath.Join(b.dir, "stream"), filepath.Join(b.dir, "made.git")
	err = b.do(p.path(1), "bash", "-c", `git fast-export --all > "$1"`, "bash", stream)
	return p.ours, p.theirs(func(to string) side {
		return b.weighed(b.dir, "bash", "-c", `rm -rf "$2" && git init -q --bare "$2" && cd "$2" && git fast-import --quiet < "$1" && git push -q "$3" 'refs/*:refs/*'`,
			"bash", stream, made, to)
	}), err
}

// publishing is a project of n items, and a web server for their registries.
type publishing struct {
	b         *bench
	n, runs   int
	dir, root string
	url       string
}

// openPublishing makes a publishing, and publishes once.
func (b *bench) openPublishing(n int) (*publishing, error) {
	dir, err := b.project(n)
	if err != nil {
		return nil, err
	}
	// A namespace comes from one registry, and rye keeps it in the project's file and in the
	// user's configuration. Each run begins with the original files.
	if err := b.pins(dir, n, keepPins); err != nil {
		return nil, err
	}
	p := &publishing{b: b, n: n, dir: dir}
	if p.root, err = os.MkdirTemp(b.dir, "registries-"); err != nil {
		return nil, err
	}
	if p.url, err = b.serveGit(p.root); err != nil {
		return nil, err
	}
	_, err = p.ours()
	return p, err
}

func (p *publishing) path(run int) string { return filepath.Join(p.root, fmt.Sprintf("r%d.git", run)) }

// empty makes an empty repository that accepts pushes, and returns its address.
func (p *publishing) empty(name string) (url string, err error) {
	at := filepath.Join(p.root, name)
	return p.url + "/" + name, errors.Join(os.RemoveAll(at), p.b.do(p.root, "git", "init", "--quiet", "--bare", at), p.b.do(at, "git", "config", "http.receivepack", "true"))
}

func (p *publishing) ours() (cost, error) {
	p.runs++
	if err := p.b.pins(p.dir, p.n, restorePins); err != nil {
		return cost{}, err
	}
	url, err := p.empty(filepath.Base(p.path(p.runs)))
	if err != nil {
		return cost{}, err
	}
	name := fmt.Sprintf("%s-%d", filepath.Base(p.root), p.runs)
	if err := p.b.do(p.dir, "rye", "registry", "init", url, "--name", name, "--yes", "--quiet"); err != nil {
		return cost{}, err
	}
	return p.b.weighed(p.dir, "rye", "push", "--all", "--registry", name, "--quiet")()
}

// theirs returns a side that begins with an empty repository, whose address push gets.
func (p *publishing) theirs(push func(to string) side) side {
	return func() (cost, error) {
		url, err := p.empty("git.git")
		if err != nil {
			return cost{}, err
		}
		return push(url)()
	}
}

const (
	keepPins    = `test -d "$2" || { mkdir -p "$2" && cp -a .config "$2" && cp "$1" "$2/rye.yaml"; }`
	restorePins = `rm -rf .config && cp -a "$2/.config" . && cp "$2/rye.yaml" "$1"`
)

// pins keeps the original files that decide from which registry a project's namespaces come, or
// restores them.
func (b *bench) pins(dir string, n int, script string) error {
	return b.do(b.dir, "bash", "-c", script, "bash", filepath.Join(dir, ".ai", "rye.yaml"), filepath.Join(b.dir, fmt.Sprintf("before%d", n)))
}

const writers = 8

// byGit commits one file durably, and repeats that until no other writer was faster.
const byGit = `set -e
export GIT_INDEX_FILE="$1.index"
blob=$(git hash-object -w "$1")
while :; do
	old=$(git rev-parse HEAD)
	git read-tree "$old"
	git update-index --add --cacheinfo "100644,$blob,tools/acme/$1"
	new=$(git commit-tree -p "$old" -m edit "$(git write-tree)")
	git update-ref HEAD "$new" "$old" 2>/dev/null && exit
done
`

// crowd runs eight processes at once, and each records one changed item. git's are
// shells that try again when another one was faster, and sign nothing. On both sides it
// is an error if one of the eight items is not in the last commit.
func crowd(b *bench, _ int) (side, side, error) {
	dir, err := b.project(100)
	if err != nil {
		return nil, nil, err
	}
	repo := filepath.Join(b.dir, "crowd.git")
	err = errors.Join(b.do(b.dir, "git", "init", "--quiet", "--bare", repo), b.do(repo, "git", "config", "core.fsync", "all"),
		b.do(repo, "bash", "-c", `git update-ref HEAD $(git commit-tree -m first $(git write-tree))`))
	ours := b.together(filepath.Join(dir, ".ai", "tools", "acme"), b.store(dir), func(name string) side {
		return b.process(dir, "rye", "sign", "--quiet", "tool:acme/"+name[:len(name)-len(".sh")])
	})
	theirs := b.together(repo, repo, func(name string) side { return b.process(repo, "bash", "-c", byGit, "bash", name) })
	return ours, theirs, err
}

// together returns a side that changes a file for each writer in dir and runs all
// writers at once. It checks that the repository then has the content of the files.
func (b *bench) together(dir, repo string, writer func(name string) side) side {
	round := 0
	return func() (cost, error) {
		round++
		names, sides := make([]string, writers), make([]side, writers)
		for i := range writers {
			names[i] = fmt.Sprintf("w%d.sh", i)
			sides[i] = writer(names[i])
			if err := os.WriteFile(filepath.Join(dir, names[i]), []byte(fourKiB(round*writers+i)), 0o644); err != nil {
				return cost{}, err
			}
		}
		c, err := atOnce(sides)
		for _, name := range names {
			want, rerr := os.ReadFile(filepath.Join(dir, name))
			got, gerr := b.command(repo, "git", "show", "HEAD:tools/acme/"+name).Output()
			if err = errors.Join(err, rerr, gerr); err == nil && !bytes.Equal(got, want) {
				err = fmt.Errorf("%s: what one of %d writers recorded is lost", name, writers)
			}
		}
		return c, err
	}
}

// atOnce runs all sides at once. It returns the time until the last one ended, and the
// processor time of all together.
func atOnce(sides []side) (cost, error) {
	var wg sync.WaitGroup
	costs, errs := make([]cost, len(sides)), make([]error, len(sides))
	for i, s := range sides {
		wg.Go(func() { costs[i], errs[i] = s() })
	}
	wg.Wait()
	var all cost
	for _, c := range costs {
		all.wall, all.cpu = max(all.wall, c.wall), all.cpu+c.cpu
	}
	return all, errors.Join(errs...)
}
