// Package bearer keeps the tokens by which a server knows its clients. Each has a name,
// and only its SHA-256 is kept, so a reader of the file can send none.
//
// The file is canonical JSON, mode 0600, made whole at every change:
//
//	{"v":1,"tokens":[{"name":"laptop","sha256":"<hex>","made":"2026-01-02T03:04:05Z",
//	  "before":{"sha256":"<hex>","until":"2026-01-03T03:04:05Z"}}]}
//
// (one line). docs/format/mcp.md is the norm.
package bearer

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/internal/strict"
)

const (
	prefix    = "rye_mcp_" // it makes a leaked token recognizable
	grace     = 24 * time.Hour
	maxFile   = 64 << 10
	maxTokens = 128
	maxName   = 32
)

// Token is the kept record of a client's token.
type Token struct {
	Name   string  `json:"name"`
	SHA256 string  `json:"sha256"`
	Made   string  `json:"made"` // RFC 3339, UTC
	Before *Before `json:"before,omitempty"`
}

// Before is the token that a rotation replaced. It is valid for another day.
type Before struct {
	SHA256 string `json:"sha256"`
	Until  string `json:"until"`
}

type file struct {
	V      int     `json:"v"`
	Tokens []Token `json:"tokens"`
}

// File is the path of the file with the tokens. The file need not exist.
type File string

// Made is a new token. It cannot be shown again later.
type Made struct {
	Name  string `json:"name"`
	Token string `json:"token"`
	Until string `json:"predecessor_until,omitempty"` // the replaced token is valid until then
}

// Add makes a token for a client. A client that has one is fault.Conflict.
func (f File) Add(ctx context.Context, name string, now time.Time) (*Made, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	made := &Made{Name: name, Token: newToken()}
	return made, f.change(ctx, func(all []Token) ([]Token, error) {
		if _, has := find(all, name); has {
			return nil, fault.New(fault.Conflict, "client %q has a token", name).Mend("rye mcp token rotate %s", name)
		}
		if len(all) >= maxTokens {
			return nil, fault.New(fault.Limit, "%d clients have tokens, which is as many as can", maxTokens).Advise("rye mcp token list shows who has one")
		}
		return append(all, Token{Name: name, SHA256: digest(made.Token), Made: stamp(now)}), nil
	})
}

// Rotate makes another token for a client. The previous one is valid for another day.
func (f File) Rotate(ctx context.Context, name string, now time.Time) (*Made, error) {
	made := &Made{Name: name, Token: newToken(), Until: stamp(now.Add(grace))}
	return made, f.change(ctx, func(all []Token) ([]Token, error) {
		i, has := find(all, name)
		if !has {
			return nil, missing(name)
		}
		all[i] = Token{Name: name, SHA256: digest(made.Token), Made: stamp(now), Before: &Before{all[i].SHA256, made.Until}}
		return all, nil
	})
}

// Remove removes a client's token and its predecessor. Both are invalid at once.
func (f File) Remove(ctx context.Context, name string) error {
	return f.change(ctx, func(all []Token) ([]Token, error) {
		i, has := find(all, name)
		if !has {
			return nil, missing(name)
		}
		return slices.Delete(all, i, i+1), nil
	})
}

// List returns the records of all tokens, sorted by name.
func (f File) List() ([]Token, error) {
	raw, err := f.read()
	if err != nil {
		return nil, err
	}
	return parse(raw)
}

// CheckName refuses an invalid client name with fault.Usage. A name is 1 to 32 of a-z, 0-9, -
// and _, and begins with a letter or a digit.
func CheckName(name string) error {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789"
	if name == "" || len(name) > maxName || strings.Trim(name[:1], letters) != "" || strings.Trim(name, letters+"-_") != "" {
		return fault.New(fault.Usage, "client %q: a name is 1 to %d of a-z, 0-9, - and _", name, maxName)
	}
	return nil
}

func missing(name string) error {
	return fault.New(fault.NotFound, "client %q has no token", name).Advise("rye mcp token list shows who has one")
}

func find(all []Token, name string) (i int, has bool) {
	return slices.BinarySearchFunc(all, name, func(t Token, name string) int { return cmp.Compare(t.Name, name) })
}

// change replaces the tokens in the file by the result of do, under a lock.
func (f File) change(ctx context.Context, do func([]Token) ([]Token, error)) error {
	if err := os.MkdirAll(filepath.Dir(string(f)), 0o700); err != nil {
		return fault.New(fault.Failed, "keep tokens: %w", err)
	}
	unlock, err := place.Lock(ctx, string(f)+".lock")
	if err != nil {
		return err
	}
	defer unlock()
	all, err := f.List()
	if err != nil {
		return err
	}
	if all, err = do(all); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b Token) int { return cmp.Compare(a.Name, b.Name) })
	return place.File(string(f), encode(all), 0o600)
}

// read returns the bytes of the file; nil for a missing one. A file that other users could
// read or write is fault.Auth.
func (f File) read() ([]byte, error) {
	raw, err := place.ReadIf(string(f), maxFile, func(m fs.FileMode) error {
		if runtime.GOOS != "windows" && m.Perm()&0o077 != 0 {
			return fault.New(fault.Auth, "%s: others may use it (mode %o)", string(f), m.Perm()).Mend("chmod 600 %s", string(f))
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = place.Mine(string(f))
	}
	return raw, err
}

func encode(all []Token) []byte {
	if all == nil {
		all = []Token{}
	}
	raw, _ := json.Marshal(file{1, all}) // texts always encode
	return append(raw, '\n')
}

// parse is the inverse of encode. Any other text is fault.Malformed.
func parse(raw []byte) ([]Token, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var f file
	if err := strict.Decode(raw, maxFile, &f); err != nil {
		return nil, fault.New(fault.Malformed, "read the tokens of clients: %w", err)
	}
	if f.V != 1 || !bytes.Equal(raw, encode(f.Tokens)) || len(f.Tokens) > maxTokens {
		return nil, fault.New(fault.Malformed, "read the tokens of clients: it is not as rye writes it")
	}
	for i, t := range f.Tokens {
		if err := t.check(); err != nil {
			return nil, fault.New(fault.Malformed, "read the tokens of clients: %w", err)
		}
		if i > 0 && f.Tokens[i-1].Name >= t.Name {
			return nil, fault.New(fault.Malformed, "read the tokens of clients: %q is not in its place", t.Name)
		}
	}
	return f.Tokens, nil
}

func (t Token) check() error {
	if err := CheckName(t.Name); err != nil {
		return err
	}
	digests, times := []string{t.SHA256}, []string{t.Made}
	if t.Before != nil {
		digests, times = append(digests, t.Before.SHA256), append(times, t.Before.Until)
	}
	for _, d := range digests {
		if len(d) != 2*sha256.Size || strings.Trim(d, "0123456789abcdef") != "" {
			return errors.New("a digest is none")
		}
	}
	for _, text := range times {
		if at, err := time.Parse(time.RFC3339, text); err != nil || stamp(at) != text {
			return errors.New("a time is none")
		}
	}
	return nil
}

func newToken() string {
	var b [32]byte
	rand.Read(b[:])
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}

// digest needs no salt and no slow hash: 256 random bits cannot be guessed.
func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// Door finds the client of a token by the current content of the file. It is safe for
// concurrent use.
type Door struct {
	File File

	mu  sync.Mutex
	raw []byte
	all []Token
}

// Name returns the client of a token. An unreadable file has no clients.
func (d *Door) Name(token string, now time.Time) (name string, ok bool) {
	if token == "" {
		return "", false
	}
	sum := digest(token)
	for _, t := range d.tokens() {
		same := subtle.ConstantTimeCompare([]byte(t.SHA256), []byte(sum))
		if t.Before != nil && stamp(now) < t.Before.Until {
			same |= subtle.ConstantTimeCompare([]byte(t.Before.SHA256), []byte(sum))
		}
		if same == 1 {
			name, ok = t.Name, true
		}
	}
	return name, ok
}

func (d *Door) tokens() []Token {
	raw, err := d.File.read()
	if err != nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !bytes.Equal(raw, d.raw) {
		if d.all, err = parse(raw); err != nil {
			d.all = nil
		}
		d.raw = raw
	}
	return d.all
}
