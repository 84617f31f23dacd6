package thread

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/strict"
)

// What lies in the directory of a thread besides its journal (docs/format/thread.md).
const (
	descriptionFile  = "thread.json"
	signatureFile    = "thread.json.sig"
	itemsFile        = "items.json"
	instructionsFile = "instructions.md"
	itemsDir         = "items"
	keyFile          = "key"
)

// recorder is on whose behalf a thread keeps what it did: not its own, since a model drives it.
var recorder = rye.Program("recorder", "rye.record", "rye.load.config.*")

// maxItems bounds items.json.
const maxItems = 64 << 20

// beginning is all that a thread begins with.
type beginning struct {
	d            *Description
	sig          string
	items        []rye.PinnedItem
	files        map[string][]byte
	instructions string
	key          ed25519.PrivateKey
}

// write puts the beginning of a thread into its directory. thread.json comes last: what has
// none never began.
func (b *beginning) write(dir string, raw []byte) error {
	items, err := encodeItems(b.items)
	if err != nil {
		return err
	}
	seed := base64.RawURLEncoding.EncodeToString(b.key.Seed()) + "\n"
	files := map[string][]byte{itemsFile: items, instructionsFile: []byte(b.instructions), keyFile: []byte(seed), signatureFile: []byte(b.sig + "\n")}
	for path, data := range b.files {
		files[itemsDir+"/"+path] = data
	}
	var g errgroup.Group // each waits for the disk, which takes many at once
	g.SetLimit(8)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err = os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			break
		}
		g.Go(func() error { return writeFile(path, files[name]) })
	}
	if err := errors.Join(err, g.Wait()); err != nil {
		return err
	}
	if err := writeFile(filepath.Join(dir, descriptionFile), raw); err != nil {
		return err
	}
	return syncDir(dir)
}

// writeFile writes a new file, durably.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.New(fault.Failed, "write %s: %w", filepath.Base(path), err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fault.New(fault.Failed, "write %s: %w", filepath.Base(path), err)
	}
	return nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // some systems cannot; what is lost then is a thread that never began
	return nil
}

// encodeItems returns items.json.
func encodeItems(items []rye.PinnedItem) ([]byte, error) {
	raw, err := json.MarshalIndent(items, "", " ")
	return append(raw, '\n'), err
}

func sumOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// maxSignature bounds thread.json.sig.
const maxSignature = 64 << 10

// readDescription reads and verifies thread.json.
func readDescription(ctx context.Context, rec rye.Record, dir string) (*Description, error) {
	raw, err := place.Read(filepath.Join(dir, descriptionFile), maxDescription+1)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.NotFound, "thread %s: it never began", filepath.Base(dir))
	}
	if err != nil {
		return nil, err
	}
	sig, err := place.Read(filepath.Join(dir, signatureFile), maxSignature)
	if err != nil {
		return nil, fault.New(fault.Integrity, "thread %s: %w", filepath.Base(dir), err)
	}
	if err := rec.Vouched(ctx, recorder, raw, string(sig)); fault.Is(err, fault.Malformed) {
		return nil, fault.New(fault.Integrity, "thread %s: %w", filepath.Base(dir), err)
	} else if err != nil {
		return nil, err
	}
	d, err := parseDescription(raw)
	if err == nil && d.ID != filepath.Base(dir) {
		err = fault.New(fault.Integrity, "the directory of thread %s describes thread %s", filepath.Base(dir), d.ID)
	}
	return d, err
}

// readKey reads the key of a thread, which must be the one that its description names.
func readKey(dir string, d *Description) (ed25519.PrivateKey, error) {
	raw, err := os.ReadFile(filepath.Join(dir, keyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fault.New(fault.Conflict, "thread %s has ended: its key is gone", d.ID)
	}
	if err != nil {
		return nil, err
	}
	seed, err := base64.RawURLEncoding.DecodeString(string(raw[:max(len(raw)-1, 0)]))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, fault.New(fault.Integrity, "the key of thread %s cannot be read", d.ID)
	}
	key := ed25519.NewKeyFromSeed(seed)
	if publicText(key) != d.Key {
		return nil, fault.New(fault.Integrity, "the key of thread %s changed since its start", d.ID)
	}
	return key, nil
}

// dropKey throws the key away: nobody adds a turn to what has ended.
func dropKey(dir string) error {
	if err := os.Remove(filepath.Join(dir, keyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return syncDir(dir)
}

func publicText(key ed25519.PrivateKey) string {
	return base64.RawURLEncoding.EncodeToString(key.Public().(ed25519.PublicKey))
}

// readPins reads what the thread began with: each item in use, by its digest.
func readPins(dir string, d *Description) (rye.Pins, error) {
	raw, err := os.ReadFile(filepath.Join(dir, itemsFile))
	if err != nil {
		return nil, fault.New(fault.Integrity, "the items of thread %s: %w", d.ID, err)
	}
	if sumOf(raw) != d.Items {
		return nil, fault.New(fault.Integrity, "the items of thread %s changed since its start", d.ID)
	}
	var items []rye.PinnedItem
	if err := strict.Decode(raw, maxItems, &items); err != nil {
		return nil, fault.Wrap(err, "the items of thread %s", d.ID)
	}
	pins := make(rye.Pins, len(items))
	for _, it := range items {
		pins[it.Ref] = it.SHA256
	}
	return pins, nil
}

// readItems gives the bytes of the items that the thread may reach.
func readItems(dir string, visit func(path string, raw []byte)) error {
	top := filepath.Join(dir, itemsDir)
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, path)
		if err == nil {
			visit(filepath.ToSlash(rel), raw)
		}
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Handed is what the process of a thread is given, by a pipe that nobody else reads.
type Handed struct {
	Dir     string            `json:"dir"` // of the thread
	Token   string            `json:"token"`
	Holder  []byte            `json:"holder"`  // private key of the token's holder
	Secrets map[string]string `json:"secrets"` // "<name>@<host>": the secret
	Accept  bool              `json:"accept"`  // what is unknown after damage
	Loop    bool              `json:"loop"`    // go on with the loop of today
}

func (h Handed) encode() ([]byte, error) { return json.Marshal(h) }

// maxHanded bounds it in bytes.
const maxHanded = 1 << 20

func parseHanded(raw []byte) (h Handed, err error) {
	err = strict.Decode(raw, maxHanded, &h)
	if err == nil && !filepath.IsAbs(h.Dir) {
		err = fault.New(fault.Malformed, "a thread without a directory")
	}
	return h, err
}
