package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// doorRows add skills of a repository on disk, and ask many repositories what is new.
func doorRows() []row {
	return []row{
		{what: "add 400 skills from a clone on disk", peer: "cp -r, and git hash-object of the same", light: true, setup: addSkills},
		{what: "outdated: 20 origins, hosts of 50 ms", peer: "the slowest git ls-remote of them", light: true, setup: outdatedOrigins},
	}
}

// skill writes a skill of three files.
func skill(dir, name string) error {
	return errors.Join(os.MkdirAll(filepath.Join(dir, "scripts"), 0o755),
		os.WriteFile(filepath.Join(dir, "SKILL.md"), fmt.Appendf(nil, "---\nname: %s\ndescription: Knows %s. Use when asked about it.\n---\n%s", name, name, said(len(name), 1)), 0o644),
		os.WriteFile(filepath.Join(dir, "scripts", "run.py"), fmt.Appendf(nil, "print(%q)\n", name), 0o644),
		os.WriteFile(filepath.Join(dir, "notes.md"), said(len(name)+1, 2), 0o644))
}

// addSkills takes in the skills of a clone, unsigned, with their origins: rye copies, digests and
// records them. The peer copies the files and digests them.
func addSkills(b *bench, _ int) (side, side, error) {
	clone := filepath.Join(b.dir, "skills-clone")
	var files strings.Builder
	for i := range 400 {
		name := fmt.Sprintf("skill-%03d", i)
		if err := skill(filepath.Join(clone, "skills", name), name); err != nil {
			return nil, nil, err
		}
		for _, f := range []string{"SKILL.md", "scripts/run.py", "notes.md"} {
			files.WriteString(filepath.Join(clone, "skills", name, f) + "\n")
		}
	}
	err := errors.Join(b.do(clone, "git", "init", "--quiet"), b.do(clone, "git", "add", "--all"), b.do(clone, "git", "commit", "--quiet", "-m", "skills"))
	n := 0
	ours := func() (cost, error) {
		n++
		dir := filepath.Join(b.dir, fmt.Sprintf("door-%d", n))
		if err := errors.Join(os.MkdirAll(dir, 0o755), b.do(dir, "rye", "init", "--namespace", "door", "--quiet")); err != nil {
			return cost{}, err
		}
		c, err := b.process(dir, "rye", "add", clone, "--quiet")()
		return c, errors.Join(err, os.RemoveAll(dir))
	}
	theirs := func() (cost, error) {
		n++
		to := filepath.Join(b.dir, fmt.Sprintf("copy-%d", n))
		copied, err1 := b.process(b.dir, "cp", "-r", clone, to)()
		hash := b.command(clone, "git", "hash-object", "-w", "--stdin-paths")
		hash.Stdin = strings.NewReader(files.String())
		hashed, err2 := b.timed(hash)
		return cost{wall: copied.wall + hashed.wall, cpu: copied.cpu + hashed.cpu}, errors.Join(err1, err2, os.RemoveAll(to))
	}
	return ours, theirs, err
}

// outdatedOrigins asks for 20 repositories, each behind a host that takes its time. git asks for one
// after the other; the slowest answer is the least that asking all of them together takes.
func outdatedOrigins(b *bench, _ int) (side, side, error) {
	const n = 20
	root := filepath.Join(b.dir, "origins")
	server, err := b.serveGitSlowly(root, 50*time.Millisecond)
	if err != nil {
		return nil, nil, err
	}
	project := filepath.Join(b.dir, "asks")
	err = errors.Join(os.MkdirAll(project, 0o755), b.do(project, "rye", "init", "--namespace", "asks", "--quiet"))
	var urls []string
	for i := range n {
		name := fmt.Sprintf("origin-%02d", i)
		work, bare := filepath.Join(b.dir, "work-"+name), filepath.Join(root, name+".git")
		err = errors.Join(err, skill(filepath.Join(work, "skills", name), name), b.do(work, "git", "init", "--quiet"), b.do(work, "git", "add", "--all"),
			b.do(work, "git", "commit", "--quiet", "-m", "skill"), b.do(b.dir, "git", "clone", "--quiet", "--bare", work, bare),
			b.do(project, "rye", "add", server+"/"+name+".git", "--yes", "--quiet"))
		urls = append(urls, server+"/"+name+".git")
	}
	err = errors.Join(err, b.do(project, "rye", "sign", "--all", "--yes", "--quiet"))
	slowest := func() (cost, error) {
		var all cost
		for _, u := range urls {
			c, err := b.process(b.dir, "git", "ls-remote", u)()
			if err != nil {
				return cost{}, err
			}
			all.wall, all.cpu = max(all.wall, c.wall, time.Duration(0)), max(all.cpu, c.cpu)
		}
		return all, nil
	}
	return b.process(project, "rye", "outdated"), slowest, err
}
