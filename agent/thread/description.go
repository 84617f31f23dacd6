package thread

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/strict"
	"github.com/rye-os/rye/objects"
)

// Description is what a thread began with (thread.json, docs/format/thread.md). It is signed
// by the key of this machine for threads, and never changes.
type Description struct {
	V            int                `json:"v"`
	ID           string             `json:"thread_id"`
	Started      string             `json:"started"`   // RFC 3339, UTC
	Directive    string             `json:"directive"` // a ref
	SHA256       string             `json:"sha256"`    // of the directive's file
	Version      string             `json:"version"`
	Signer       string             `json:"signer"`
	Params       json.RawMessage    `json:"params"`
	Prompt       string             `json:"prompt"`  // said besides; "" is nothing
	Parent       string             `json:"parent"`  // "" for none
	Starter      string             `json:"starter"` // name of the caller
	Capabilities []string           `json:"capabilities"`
	Denied       []string           `json:"denied"` // asked for, and not given
	Limits       rye.ThreadLimits   `json:"limits"`
	Provider     string             `json:"provider"` // ref
	Tier         string             `json:"tier"`     // or the model that was asked for
	Model        string             `json:"model"`
	Loop         string             `json:"loop"`        // ref
	LoopSHA256   string             `json:"loop_sha256"` // of its file
	LoopConfig   json.RawMessage    `json:"loop_config"` // an object, or null
	Items        string             `json:"items"`       // SHA-256 of items.json
	Outputs      []rye.PinnedOutput `json:"outputs"`
	Hooks        json.RawMessage    `json:"hooks"`             // a list of hook; null for none
	Patched      []string           `json:"patched,omitempty"` // refs of what drives it that no owner of its namespace signed
	Key          string             `json:"key"`               // public, base64url: it signs the turns
}

// maxDescription bounds thread.json; parameters and hooks are what can be large.
const maxDescription = 1 << 20

// encode returns the bytes that are signed.
func (d *Description) encode() ([]byte, error) {
	raw, err := json.MarshalIndent(d, "", " ")
	if err == nil && len(raw) > maxDescription {
		err = fault.New(fault.Limit, "describe the thread: %d bytes, at most %d", len(raw), maxDescription).Advise("pass large parameters as files")
	}
	return append(raw, '\n'), err
}

// parseDescription reads thread.json, which was verified.
func parseDescription(raw []byte) (*Description, error) {
	d := &Description{}
	if err := strict.Decode(raw, maxDescription, d); err != nil {
		return nil, fault.New(fault.Malformed, "thread.json: %w", err)
	}
	if d.V != 1 {
		return nil, fault.New(fault.Malformed, "thread.json: format %d, this rye reads 1", d.V).Advise("use the rye that started the thread")
	}
	return d, nil
}

// ref returns the ref that a description spells.
func refOf(text string) rye.Ref {
	ref, _ := objects.ParseRef(text) // that rye wrote
	return ref
}

func (d *Description) started() time.Time {
	t, _ := time.Parse(time.RFC3339, d.Started)
	return t
}

// required lists the outputs that the directive has to return.
func (d *Description) required() (names []string) {
	for _, o := range d.Outputs {
		if o.Required {
			names = append(names, o.Name)
		}
	}
	slices.Sort(names)
	return names
}
