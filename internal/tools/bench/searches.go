package main

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	_ "modernc.org/sqlite" // FTS5, the peer

	"github.com/rye-os/rye/search"
	"github.com/rye-os/rye/search/fulltext"
)

// searchRows compare with the alternatives: grep and ripgrep, which read everything each time,
// and a table in SQLite's FTS5, which a program must keep up to date.
func searchRows(sizes []int) (all []row) {
	for _, r := range []row{
		{what: "search a word, the whole command", peer: "grep -r", setup: searchBeside(oneWord, "grep", "-r")},
		{what: "search a word, the whole command", peer: "rg", setup: searchBeside(oneWord, "rg", "--no-config")},
		{what: "search a question, the whole command", peer: "grep -rE", setup: searchBeside(question, "grep", "-rE")},
		{what: "search a word, by a server that looks at the files", peer: "FTS5, which does not", setup: searchServer(oneWord)},
		{what: "search a question, by a server", peer: "FTS5", setup: searchServer(question)},
		{what: "search a word in the index", peer: "FTS5", light: true, setup: searchIndex(oneWord)},
		{what: "search two words in the index", peer: "FTS5", light: true, setup: searchIndex(twoWords)},
		{what: "search a question in the index", peer: "FTS5", light: true, setup: searchIndex(question)},
		{what: "one change, and it is found, by a server", peer: "FTS5, told of it", setup: searchChange},
		{what: "first index, and a search", peer: "FTS5, rows inserted", heavy: true, setup: firstIndex},
	} {
		for _, n := range sizes {
			r.n = n
			if r.peer != "rg" || found("rg") {
				all = append(all, r)
			}
		}
	}
	return all
}

func found(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// The queries, about one entry in the middle.
func oneWord(n int) string  { return fmt.Sprintf("e%05d", n/2) }
func twoWords(n int) string { return fmt.Sprintf("value e%05d", n/2) }
func question(n int) string {
	return fmt.Sprintf("how do I find what the value of entry %d follows from", n/2)
}

func searchBeside(query func(int) string, peer ...string) func(*bench, int) (side, side, error) {
	return func(b *bench, n int) (side, side, error) {
		dir, err := b.project(n)
		pattern := query(n)
		if strings.Contains(pattern, " ") {
			pattern = strings.ReplaceAll(pattern, " ", "|")
		}
		theirs := func() (cost, error) {
			cmd := b.command(dir, append(slices.Clone(peer), pattern, ".ai/knowledge")...)
			return b.timed(cmd)
		}
		return b.process(dir, "rye", "search", query(n)), theirs, err
	}
}

// table is an FTS5 table of a project's entries.
func (b *bench) table(dir string, n int) (*sql.DB, error) {
	path := filepath.Join(b.dir, fmt.Sprintf("fts%d.db", n))
	if _, err := os.Stat(path); err == nil {
		return sql.Open("sqlite", path)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return nil, err
	}
	return db, fillTable(db, dir, n)
}

func fillTable(db *sql.DB, dir string, n int) error {
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec("create virtual table t using fts5(name, body, tokenize='porter unicode61')"); err != nil {
		return err
	}
	for i := range n {
		raw, err := os.ReadFile(entryPath(dir, i))
		if err != nil {
			return err
		}
		if _, err := tx.Exec("insert into t(rowid, name, body) values (?, ?, ?)", i+1, entry(i), string(raw)); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func entryPath(dir string, i int) string {
	return filepath.Join(dir, ".ai", "knowledge", filepath.FromSlash(entry(i))+".md")
}

// ask queries the ten best hits for any of the words, with a snippet of each text.
func ask(db *sql.DB, query string) error {
	rows, err := db.Query("select name, snippet(t, 1, '', '', '', 10) from t where t match ? order by rank limit 10", `"`+strings.Join(strings.Fields(query), `" OR "`)+`"`)
	if err != nil {
		return err
	}
	defer rows.Close()
	none := true
	for none = true; rows.Next(); none = false {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
	}
	if none {
		return fmt.Errorf("FTS5 finds nothing by %q", query)
	}
	return rows.Err()
}

// searcher is a server that searches a project.
type searcher struct {
	*server
	dir string
}

func (b *bench) searcher(dir string) (*searcher, error) {
	s, err := startServer(b.command(dir, "rye", "mcp"))
	if err != nil {
		return nil, err
	}
	b.ends = append(b.ends, s.close)
	return &searcher{s, dir}, nil
}

func (s *searcher) find(query string) error {
	raw, err := s.call("tools/call", map[string]any{"name": "search", "arguments": map[string]any{"query": query, "project_path": s.dir}})
	if err != nil {
		return err
	}
	var answer struct{ Content []struct{ Text string } }
	var found struct{ Results []struct{ Guess bool } }
	if err = json.Unmarshal(raw, &answer); err == nil && len(answer.Content) > 0 {
		err = json.Unmarshal([]byte(answer.Content[0].Text), &found)
	}
	if err != nil || len(found.Results) == 0 || found.Results[0].Guess {
		return fmt.Errorf("a server finds nothing by %q: %s", query, clip(raw))
	}
	return nil
}

func searchServer(query func(int) string) func(*bench, int) (side, side, error) {
	return func(b *bench, n int) (side, side, error) {
		dir, err := b.project(n)
		if err != nil {
			return nil, nil, err
		}
		s, err := b.searcher(dir)
		if err != nil {
			return nil, nil, err
		}
		db, err := b.table(dir, n)
		if err == nil {
			err = s.find(query(n))
		}
		b.tellMemory(s, n)
		return inside(func() error { return s.find(query(n)) }), inside(func() error { return ask(db, query(n)) }), err
	}
}

// tellMemory prints the memory of a server after a search.
func (b *bench) tellMemory(s *searcher, n int) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return // this system has no such figures
	}
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 1 && (f[0] == "RssAnon:" || f[0] == "VmRSS:") {
			kb, _ := strconv.Atoi(f[1])
			fmt.Printf("server that has searched %d items: %s %.1f MB\n", n, f[0], float64(kb)/1e3)
		}
	}
}

// searchIndex queries the index itself, without looking at files, like FTS5.
func searchIndex(query func(int) string) func(*bench, int) (side, side, error) {
	return func(b *bench, n int) (side, side, error) {
		dir, err := b.project(n)
		if err != nil {
			return nil, nil, err
		}
		db, err := b.table(dir, n)
		if err != nil {
			return nil, nil, err
		}
		index := fulltext.New(filepath.Join(b.dir, fmt.Sprintf("index%d", n)))
		l, err := listing(index, dir, n)
		if err != nil {
			return nil, nil, err
		}
		opened, err := index.Open(b.ctx, l)
		if err != nil {
			return nil, nil, err
		}
		b.ends = append(b.ends, func() error { opened.Close(); index.Wait(); return nil })
		words := search.NewVocabulary(index.Stem, search.Words{Common: strings.Fields("how do i find the of what from")})
		o := search.Options{Stem: index.Stem, Words: words}
		o.Most = 10
		once := func() error { return rank(b.ctx, opened, o, query(n)) }
		ours := func() (cost, error) {
			if err := once(); err != nil { // read again: the other side's garbage collection drops the kept data
				return cost{}, err
			}
			return inside(once)()
		}
		return ours, inside(func() error { return ask(db, query(n)) }), nil
	}
}

func rank(ctx context.Context, opened *search.Opened, o search.Options, query string) error {
	q, err := search.Parse(query, nil)
	if err != nil {
		return err
	}
	var layers []search.Layer
	for _, p := range opened.Parts {
		id := func(doc int) string { return entry(int(p.Entry[doc])) }
		doc := func(doc int) (*search.Doc, error) {
			return &search.Doc{ID: id(doc), Fields: []search.Text{{Name: "id", Value: id(doc)}}}, nil
		}
		layers = append(layers, search.Layer{Source: p.Source, Order: func(doc int) int { return int(p.Entry[doc]) }, Doc: doc})
	}
	r, err := q.Rank(ctx, layers, o)
	if err == nil && r.Total == 0 {
		err = fmt.Errorf("the index finds nothing by %q", query)
	}
	return err
}

// listing returns a project's entries in the form for an index.
func listing(index *fulltext.Index, dir string, n int) (*search.Listing, error) {
	texts, sums := make([]string, n), make([][32]byte, n)
	for i := range n {
		raw, err := os.ReadFile(entryPath(dir, i))
		if err != nil {
			return nil, err
		}
		texts[i], sums[i] = string(raw), sha256.Sum256(raw)
	}
	a := search.Analyzer{Stem: index.Stem, Weights: search.Weights{{Field: "id", Weight: 1}, {Field: search.Body, Weight: 0.5}}}
	return &search.Listing{Name: "the bench", Key: dir, Len: n,
		At: func(i int) ([]byte, [32]byte) { return []byte("knowledge/" + entry(i) + ".md"), sums[i] },
		Terms: func(i int) ([]search.Term, bool, error) {
			id := entry(i)
			return a.Terms(&search.Doc{ID: "knowledge:" + id, Fields: []search.Text{{Name: "id", Value: id}}, Body: texts[i]}), true, nil
		}}, nil
}

// searchChange writes one entry, and searches for its new text.
func searchChange(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	if err != nil {
		return nil, nil, err
	}
	s, err := b.searcher(dir)
	if err != nil {
		return nil, nil, err
	}
	db, err := b.table(dir, n)
	if err == nil {
		err = s.find(oneWord(n))
	}
	path := entryPath(dir, n/2)
	was, rerr := os.ReadFile(path)
	if rerr == nil {
		b.undo = append(b.undo, func() error { return os.WriteFile(path, was, 0o644) })
	}
	i := 0
	next := func() (word, text string) {
		i++
		word = fmt.Sprintf("marker%dx", i)
		return word, strings.Replace(string(was), "Fact 0", word, 1)
	}
	ours := inside(func() error {
		word, text := next()
		return errors.Join(os.WriteFile(path, []byte(text), 0o644), s.find(word))
	})
	theirs := inside(func() error {
		word, text := next()
		_, err := db.Exec("update t set body = ? where rowid = ?", text, n/2+1)
		return errors.Join(err, ask(db, word))
	})
	return ours, theirs, errors.Join(err, rerr)
}

// firstIndex measures building the whole index.
func firstIndex(b *bench, n int) (side, side, error) {
	dir, err := b.project(n)
	if err != nil {
		return nil, nil, err
	}
	cache := filepath.Join(strings.TrimSpace(b.output("rye", "where", "cache")), "search")
	first := true
	ours := func() (cost, error) {
		if err := os.RemoveAll(cache); err != nil {
			return cost{}, err
		}
		c, err := b.process(dir, "rye", "search", oneWord(n))()
		if first {
			first = false
			fmt.Printf("index of %d items: %.2f of their text\n", n, float64(sizeBelow(cache))/float64(sizeBelow(filepath.Join(dir, ".ai", "knowledge"))))
		}
		return c, err
	}
	theirs := inside(func() error {
		path := filepath.Join(b.dir, "first.db")
		os.Remove(path)
		db, err := sql.Open("sqlite", path)
		if err != nil {
			return err
		}
		return errors.Join(fillTable(db, dir, n), ask(db, oneWord(n)), db.Close())
	})
	return ours, theirs, nil
}

func sizeBelow(dir string) (size int64) {
	filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if st, err := d.Info(); err == nil {
				size += st.Size()
			}
		}
		return nil
	})
	return size
}
