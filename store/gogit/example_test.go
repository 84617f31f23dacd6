package gogit_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"

	"github.com/rye-os/rye/store"
	"github.com/rye-os/rye/store/gogit"
)

// Who wrote each line of a file, asked of go-git about a repository that rye keeps. For the
// record of a project, open the directory that rye where record prints.
func Example() {
	dir, err := os.MkdirTemp("", "gogit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	r, err := store.Init(filepath.Join(dir, "r.git"), "refs/heads/main")
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	write := func(who, text string, day int) {
		_, err := r.Edit(context.Background(), "refs/heads/main", []store.Change{{Path: "poem", Data: []byte(text)}}, store.CommitOptions{
			Message: "write\n", Author: store.Ident{Name: who, Email: who + "@example.com"}, When: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC),
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	write("ann", "roses are red\nviolets are red\n", 1)
	write("ben", "roses are red\nviolets are blue\n", 2)

	repo, err := gogit.Open(r)
	if err != nil {
		log.Fatal(err)
	}
	tip, err := repo.ResolveRevision(plumbing.Revision("HEAD"))
	if err != nil {
		log.Fatal(err)
	}
	commit, err := repo.CommitObject(*tip)
	if err != nil {
		log.Fatal(err)
	}
	blame, err := git.Blame(commit, "poem")
	if err != nil {
		log.Fatal(err)
	}
	for _, line := range blame.Lines {
		fmt.Println(line.AuthorName, line.Date.Format(time.DateOnly), line.Text)
	}
	// Output:
	// ann 2026-01-01 roses are red
	// ben 2026-01-02 violets are blue
}
