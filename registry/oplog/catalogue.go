package oplog

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/store"
)

// A catalogue holds the published versions of a namespace after one operation, as a tree of
// digests. A root list names the keys and sixteen lists; each list names sixteen shards, which hold
// the lines. A catalogue never changes and shares its unchanged parts with others. Parts known only
// by address are read from the source on first use. Safe for concurrent use.
type catalogue struct {
	at   Address // of the root list
	from Source

	loaded
	raw   []byte
	keys  Address
	lists [16]*list // nil for none
}

// A list names the shards under one hexadecimal digit.
type list struct {
	at   Address
	from Source

	loaded
	raw    []byte
	shards [16]*Shard // nil for none
	folder store.OID  // the git tree with the list and its shards
}

// loaded records whether a part of a catalogue is loaded. A failed load is tried again, because the
// bytes may have been fetched meanwhile.
type loaded struct {
	mu   sync.Mutex
	done bool
}

// once calls load until it has succeeded.
func (l *loaded) once(load func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.done {
		return nil
	}
	err := load()
	l.done = err == nil
	return err
}

// made marks a part that needs no loading.
func (l *loaded) made() { l.done = true }

// OpenCatalogue returns the catalogue at an address, and reads it from a source on demand.
func OpenCatalogue(at Address, from Source) *catalogue { return &catalogue{at: at, from: from} }

// get loads the root list.
func (c *catalogue) get() error {
	if c == nil {
		return nil
	}
	return c.once(func() (err error) {
		if c.raw, err = c.from.Load(c.at, "root list"); err != nil {
			return err
		}
		lines, err := parseList(c.raw, rootNames())
		for _, l := range lines {
			if l.name == "keys" {
				c.keys = l.at
				continue
			}
			c.lists[hexName(l.name)] = &list{at: l.at, from: c.from}
		}
		return err
	})
}

// get loads a list. A nil list is empty.
func (l *list) get(digit int) error {
	if l == nil {
		return nil
	}
	return l.once(func() (err error) {
		if l.raw, err = l.from.Load(l.at, "list"); err != nil {
			return err
		}
		lines, err := parseList(l.raw, listNames()[digit])
		for _, line := range lines {
			l.shards[hexName(line.name)] = lazyShard(line.at, l.from)
		}
		if err == nil {
			l.folder, err = l.tree(digit, Hasher(store.SHA1))
		}
		return err
	})
}

// list returns the list under a digit, loaded.
func (c *catalogue) list(digit int) (*list, error) {
	if c == nil {
		return nil, nil
	}
	if err := c.get(); err != nil {
		return nil, err
	}
	return c.lists[digit], c.lists[digit].get(digit)
}

// Load reads the lists ahead, where they are available. Later readers report its errors.
func (c *catalogue) Load() {
	for digit := range 16 {
		_, _ = c.list(digit)
	}
}

// Shard returns a shard, nil if there is none. The catalogue may be nil too.
func (c *catalogue) Shard(i byte) (*Shard, error) {
	l, err := c.list(int(i >> 4))
	if l == nil || err != nil {
		return nil, err
	}
	return l.shards[i&15], nil
}

// Rows returns the rows of a shard.
func (c *catalogue) Rows(i byte) ([]*Row, error) {
	sh, err := c.Shard(i)
	if err != nil {
		return nil, err
	}
	return sh.Get()
}

// each calls visit for every existing shard, in order.
func (c *catalogue) each(visit func(i byte, sh *Shard) error) error {
	for i := range 256 {
		sh, err := c.Shard(byte(i))
		if err == nil && sh != nil {
			err = visit(byte(i), sh)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// with returns the catalogue with the shards in changed replaced and with other keys.
func (c *catalogue) with(keys Address, changed map[byte]*Shard) (*catalogue, error) {
	next := &catalogue{keys: keys}
	if c != nil {
		if err := c.get(); err != nil {
			return nil, err
		}
		next.lists, next.from = c.lists, c.from
	}
	for _, i := range slices.Sorted(maps.Keys(changed)) {
		digit := int(i >> 4)
		old := next.lists[digit]
		if err := old.get(digit); err != nil {
			return nil, err
		}
		l := &list{}
		l.made()
		if old != nil {
			l.shards = old.shards
		}
		l.shards[i&15] = changed[i]
		next.lists[digit] = l
	}
	return next, next.seal()
}

// seal encodes the lists that have no address yet.
func (c *catalogue) seal() error {
	lines := []listed{{"keys", c.keys}}
	for i, l := range c.lists {
		if l == nil {
			continue
		}
		if l.at.IsZero() {
			if err := l.seal(i); err != nil {
				return err
			}
		}
		lines = append(lines, listed{rootNames()[1+i], l.at})
	}
	c.raw = encodeList(lines)
	c.at = AddressOf(c.raw)
	c.made()
	return nil
}

func (l *list) seal(digit int) (err error) {
	var lines []listed
	for i, sh := range l.shards {
		if sh != nil {
			lines = append(lines, listed{listNames()[digit][i], sh.at})
		}
	}
	l.raw = encodeList(lines)
	l.at = AddressOf(l.raw)
	l.folder, err = l.tree(digit, Hasher(store.SHA1))
	l.made()
	return err
}

// A draft is a catalogue under change: shards are copied at their first change.
type draft struct {
	on    *catalogue
	open  map[byte][]*Row
	wrote map[string]*Row // by name of the version
}

func newDraft(c *catalogue) draft { return draft{c, map[byte][]*Row{}, map[string]*Row{}} }

func (d *draft) rows(i byte) ([]*Row, error) {
	if rows, ok := d.open[i]; ok {
		return rows, nil
	}
	have, err := d.on.Rows(i)
	if err != nil {
		return nil, err
	}
	d.open[i] = slices.Clone(have)
	return d.open[i], nil
}

// put inserts or replaces an entry.
func (d *draft) put(e *Entry) error {
	i := ShardOf(e.Ref)
	rows, err := d.rows(i)
	if err != nil {
		return err
	}
	r := &Row{e, e.Ref.Published(), e.AppendLine(nil)}
	at, found := find(rows, e.Ref, e.Version)
	if found {
		rows[at] = r
	} else {
		d.open[i] = slices.Insert(rows, at, r)
	}
	d.wrote[e.Name()] = r
	return nil
}

// get returns the entry of a version, nil when it was never published.
func (d *draft) get(ref objects.Ref, version string) (*Entry, error) {
	rows, err := d.rows(ShardOf(ref))
	return FindEntry(rows, ref, version), err
}

// changes returns the written lines, sorted: a change list.
func (d *draft) changes() []*Row {
	out := slices.Collect(maps.Values(d.wrote))
	slices.SortFunc(out, func(a, b *Row) int { return a.Compare(b.Item, b.Version) })
	return out
}

// shards returns the changed shards.
func (d *draft) shards() map[byte]*Shard {
	changed := map[byte]*Shard{}
	for _, r := range d.wrote {
		i := ShardOf(r.Ref)
		if changed[i] == nil {
			changed[i] = newShard(d.open[i])
		}
	}
	return changed
}

// The paths of a state's files in its commit.
const (
	namespacePath = "namespace.yaml"
	changesPath   = "changes.jsonl"
	cataloguePath = "catalogue"
	listName      = "list" // the root list and the lists below it
)

func ShardPath(i int) string { return fmt.Sprintf("catalogue/%x/%02x.jsonl", i>>4, i) }

// tree passes the trees that differ from the catalogue before to put, and returns the top tree. It
// reads no shards.
func (c *catalogue) tree(before *catalogue, put Sink) (store.OID, error) {
	if err := c.get(); err != nil {
		return store.OID{}, err
	}
	entries := []store.Entry{{Name: listName, Mode: store.ModeFile, ID: c.at.ID}}
	for digit := range c.lists {
		l, err := c.list(digit)
		if l == nil && err == nil {
			continue
		}
		if err == nil && !before.has(digit, l) {
			_, err = l.tree(digit, put)
		}
		if err != nil {
			return store.OID{}, err
		}
		entries = append(entries, store.Entry{Name: rootNames()[1+digit], Mode: store.ModeDir, ID: l.folder})
	}
	return PutTree(put, entries)
}

// has reports whether the catalogue, which may be nil, has this list under a digit.
func (c *catalogue) has(digit int, l *list) bool {
	return c != nil && c.lists[digit] != nil && c.lists[digit].at == l.at
}

// tree passes the tree with a list and its shards to put.
func (l *list) tree(digit int, put Sink) (store.OID, error) {
	entries := []store.Entry{{Name: listName, Mode: store.ModeFile, ID: l.at.ID}}
	for i, sh := range l.shards {
		if sh != nil {
			entries = append(entries, store.Entry{Name: listNames()[digit][i] + ".jsonl", Mode: store.ModeFile, ID: sh.at.ID})
		}
	}
	return PutTree(put, entries)
}

// PutNew passes the parts that differ from the catalogue before to put.
func (c *catalogue) PutNew(before *catalogue, put Sink) error {
	add := func(raw []byte) error {
		_, err := put(store.TypeBlob, raw)
		return err
	}
	if before != nil && before.at == c.at {
		return nil
	}
	if err := add(c.raw); err != nil {
		return err
	}
	for digit, l := range c.lists {
		if l == nil || before.has(digit, l) {
			continue
		}
		if err := add(l.raw); err != nil {
			return err
		}
		old, err := before.list(digit)
		if err != nil {
			return err
		}
		for i, sh := range l.shards {
			if sh == nil || old != nil && old.shards[i] != nil && old.shards[i].at == sh.at {
				continue
			}
			rows, err := sh.Get()
			if err == nil {
				err = add(JoinRows(rows))
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// At returns the address of the root list.
func (c *catalogue) At() Address { return c.at }

// Keys returns the address of the file of keys, which the root list names.
func (c *catalogue) Keys() (Address, error) {
	err := c.get()
	return c.keys, err
}

// Lists returns the addresses of the lists above the given shards, each once.
func (c *catalogue) Lists(shards []byte) (lists []Address, err error) {
	if err := c.get(); err != nil {
		return nil, err
	}
	for _, i := range shards {
		if l := c.lists[i>>4]; l != nil && !slices.Contains(lists, l.at) {
			lists = append(lists, l.at)
		}
	}
	return lists, nil
}

// Shards returns the addresses of the given shards and skips missing ones. Their lists must be
// available.
func (c *catalogue) Shards(shards []byte) (list []Address, err error) {
	for _, i := range shards {
		sh, err := c.Shard(i)
		if err != nil {
			return nil, err
		}
		if sh != nil {
			list = append(list, sh.at)
		}
	}
	return list, nil
}

// Count returns how many shards the catalogue has, and how many of them are available. It counts
// sixteen for each list that is not available.
func (c *catalogue) Count(has func(store.OID) bool) (all, have int, err error) {
	err = c.eachList(has, func(int) { all += 16 }, func(sh *Shard) error {
		if all++; has(sh.at.ID) {
			have++
		}
		return nil
	})
	return all, have, err
}

// EachAtHand calls visit for every available shard, in order, until visit fails.
func (c *catalogue) EachAtHand(has func(store.OID) bool, visit func(*Shard) error) error {
	return c.eachList(has, func(int) {}, func(sh *Shard) error {
		if !has(sh.at.ID) {
			return nil
		}
		return visit(sh)
	})
}

// eachList calls absent for every list that is not available, and visit for the shards of the other
// lists.
func (c *catalogue) eachList(has func(store.OID) bool, absent func(digit int), visit func(*Shard) error) error {
	for digit, l := range c.lists {
		if l == nil {
			continue
		}
		if !has(l.at.ID) {
			absent(digit)
			continue
		}
		if err := l.get(digit); err != nil {
			return err
		}
		for _, sh := range l.shards {
			if sh == nil {
				continue
			}
			if err := visit(sh); err != nil {
				return err
			}
		}
	}
	return nil
}

// Within returns the ids of the available parts of a catalogue, after checking their digests.
func (c *catalogue) Within(has func(store.OID) bool) (ids []store.OID, err error) {
	if err := c.get(); err != nil {
		return nil, err
	}
	ids = append(ids, c.at.ID)
	for digit, l := range c.lists {
		if l == nil || !has(l.at.ID) {
			continue
		}
		if err := l.get(digit); err != nil {
			return nil, err
		}
		ids = append(ids, l.at.ID)
		for _, sh := range l.shards {
			if sh == nil || !has(sh.at.ID) {
				continue
			}
			if _, err := sh.from.Load(sh.at, "shard"); err != nil {
				return nil, err
			}
			ids = append(ids, sh.at.ID)
		}
	}
	return ids, nil
}
