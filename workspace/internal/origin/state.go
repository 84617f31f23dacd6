package origin

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/custody"
	"github.com/rye-os/rye/workspace/internal/session"
)

// stateFile is the name of the file in the directory's record, which docs/format/origin.md describes.
const stateFile = "origins.json"

const maxState = 16 << 20 // bytes

// state is what the user's rye remembers about the sources of a directory's bundles.
type state struct {
	Format  int                `json:"format"`
	Bundles map[string]pinned  `json:"bundles"` // by <namespace>/<name>
	Sources map[string]sources `json:"sources"` // by address
}

// pinned is how one bundle came here.
type pinned struct {
	Address string `json:"address"`          // as rye contacts it: also the path of a folder of this machine
	Root    string `json:"root,omitempty"`   // the folder that was named
	As      string `json:"as,omitempty"`     // the id or namespace that was wished for
	Listed  string `json:"listed,omitempty"` // foreign.Remote.Entry of the marketplace that listed it
	Ref     string `json:"ref,omitempty"`    // full name
	Commit  string `json:"commit,omitempty"` // as in the manifest
	Path    string `json:"path,omitempty"`
	Tree    string `json:"tree"`
	Tip     string `json:"tip,omitempty"`   // the object that the ref named; of a site or an archive the digest
	Entry   string `json:"entry,omitempty"` // the main file that was named, of a folder of programs
	Answer  answer `json:"answer,omitzero"`
}

// answer is the last comparison of a bundle with its source.
type answer struct {
	Time    string `json:"time"` // RFC 3339
	State   string `json:"state"`
	Commit  string `json:"commit,omitempty"`
	Renamed string `json:"renamed,omitempty"` // the path there now
	Reason  string `json:"reason,omitempty"`
}

// sources is what rye remembers about one source.
type sources struct {
	Typed  bool   `json:"typed,omitempty"`  // a person typed the address
	Signer string `json:"signer,omitempty"` // the key that signed at first use, as in authorized_keys

	Hosts []string `json:"hosts,omitempty"` // of an archive: the hosts, each with its port, to which its own may lead
}

func statePath(s *session.Session) (string, error) {
	if s.Place.Dir == "" {
		return "", s.Records.Err()
	}
	return filepath.Join(s.Place.Dir, stateFile), nil
}

// load reads the state; an empty one if there is none.
func load(s *session.Session) (*state, error) {
	st := &state{Format: 1, Bundles: map[string]pinned{}, Sources: map[string]sources{}}
	file, err := statePath(s)
	if err != nil || file == "" {
		return st, nil // without a record there is nothing to remember
	}
	raw, err := place.Read(file, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return st, nil
	}
	if err != nil {
		return nil, err
	}
	return st, st.parse(raw, file)
}

func (st *state) parse(raw []byte, file string) error {
	if err := strict.Decode(raw, maxState, st); err != nil {
		return fault.Wrap(err, "read %s", file)
	}
	if st.Format != 1 {
		return fault.New(fault.Malformed, "read %s: format %d, this rye reads 1", file, st.Format).Advise("install a newer rye")
	}
	for name, b := range st.Bundles {
		if _, err := objects.ParseID(name); err != nil {
			return fault.Wrap(err, "read %s", file)
		}
		if _, err := b.source(); err != nil {
			return fault.Wrap(err, "read %s", file)
		}
	}
	for _, src := range st.Sources {
		if src.Signer == "" {
			continue
		}
		if _, err := trust.ParseUpstreamKey(src.Signer); err != nil {
			return fault.Wrap(err, "read %s", file)
		}
	}
	if st.Bundles == nil {
		st.Bundles = map[string]pinned{}
	}
	if st.Sources == nil {
		st.Sources = map[string]sources{}
	}
	return nil
}

// source returns the source of a bundle at its ref, with the folder that was named.
func (b pinned) source() (objects.Source, error) {
	src, err := objects.ParseSource(b.Address)
	src.Ref, src.Path = b.Ref, b.Root
	return src, err
}

// update changes the state under the project's lock.
func update(ctx context.Context, d *custody.Desk, change func(*state) error) error {
	file, err := statePath(d.Session)
	if err != nil {
		return err
	}
	if err := d.Place.Note(d.Now()); err != nil {
		return err
	}
	unlock, err := place.Lock(ctx, file+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	st, err := load(d.Session)
	if err != nil {
		return err
	}
	if err := change(st); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(st, "", " ")
	if err != nil {
		return err
	}
	return place.File(file, append(raw, '\n'), 0o600)
}
