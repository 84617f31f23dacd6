package threads

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// The key of this machine for threads. A server and a program that starts a thread cannot ask for
// the passphrase of the user's key, so this one has none. In return it is trusted for the
// description of threads only. It signs in a namespace of its own, is in no trust store, and is
// outside of the directory of keys.
const (
	keyName   = "threads.key" // in the configuration directory
	namespace = "rye-thread"  // of its SSHSIG signatures
)

// Vouch signs the description of a thread. It makes the key when there is none.
func Vouch(ctx context.Context, h *session.Host, doc []byte) (string, error) {
	k, err := machineKey(h)
	if err != nil {
		return "", err
	}
	return trust.SignSSHSIG(ctx, k, namespace, doc)
}

// Vouched verifies a signature from Vouch for doc, on this machine. Another key is
// fault.Untrusted.
func Vouched(h *session.Host, doc []byte, sig string) error {
	by, err := trust.VerifySSHSIG(sig, namespace, doc)
	if err != nil {
		return fault.Wrap(err, "the description of the thread")
	}
	k, err := trust.LoadKey(keyPath(h), nil)
	if fault.Is(err, fault.NotFound) || err == nil && k.Public() != by {
		return fault.New(fault.Untrusted, "the description of the thread is signed by %s, not by this machine's key for threads", by)
	}
	return err
}

func keyPath(h *session.Host) string { return filepath.Join(h.ConfigDir, keyName) }

func machineKey(h *session.Host) (*trust.FileKey, error) {
	if err := h.NeedConfig(); err != nil {
		return nil, err
	}
	k, err := trust.LoadKey(keyPath(h), nil)
	if !fault.Is(err, fault.NotFound) {
		return k, err
	}
	if k, err = trust.GenerateKey(); err != nil {
		return nil, err
	}
	err = k.Save(keyPath(h), nil)
	if fault.Is(err, fault.Conflict) { // another process was faster
		return trust.LoadKey(keyPath(h), nil)
	}
	return k, err
}

// signersName is the file, beside the journals, for git's gpg.ssh.allowedSignersFile: the keys of
// threads, whose private halves are deleted at the end of a thread.
const signersName = "allowed_signers"

// announce adds the key of a thread to that file.
func announce(ctx context.Context, dir string, who string, k trust.PublicKey) error {
	unlock, err := place.Lock(ctx, filepath.Join(dir, signersName+".lock"))
	if err != nil {
		return err
	}
	defer unlock()
	path := filepath.Join(dir, signersName)
	have, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return place.File(path, append(have, trust.AllowedSigners(map[string]trust.PublicKey{who: k})...), 0o600)
}
