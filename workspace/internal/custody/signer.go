package custody

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/place"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// A key is named by its file among the keys, by a path, or by its holder:
//
//	agent               the one Ed25519 key of the ssh-agent
//	agent:SHA256:...    that key of the ssh-agent
//	kms:<address>       a key service, by sigstore's address (hashivault://..., a plug-in's)
//
// A file called agent can still be named, as ./agent.
const (
	fromAgent   = "agent"
	fromService = "kms:"
)

// Held reports whether an agent or a key service, and not a file, holds the key called
// name.
func Held(name string) bool {
	return name == fromAgent || strings.HasPrefix(name, fromAgent+":") || strings.HasPrefix(name, fromService)
}

// HeldName is the name of an agent's or a service's key in the trust store. It leaves out the
// address of a service, which may contain private data.
func HeldName(name string) string {
	if strings.HasPrefix(name, fromService) {
		return "key service"
	}
	return "ssh-agent"
}

// Signer returns the signing key. It makes none: a missing one is fault.NotFound, with
// rye key new as the hint.
func (ks *Keys) Signer(ctx context.Context) (trust.Signer, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if ks.held != nil {
		return ks.held, nil
	}
	if !Held(ks.Key) {
		k, err := trust.LoadKey(ks.Path(ks.Key), ks.Passphrase)
		if err != nil {
			return nil, ks.explainMissing(err)
		}
		return k, nil
	}
	k, err := ks.dial(ctx, ks.Key)
	if err != nil {
		return nil, err
	}
	ks.held = k
	return k, nil
}

// explainMissing adds advice to an error: for a missing signing key, to make one; for a file
// without a key, to move it aside.
func (ks *Keys) explainMissing(err error) error {
	path := ks.Path(ks.Key)
	switch fault.CodeOf(err) {
	case fault.NotFound:
		if err := ks.host.NeedConfig(); err != nil {
			return err
		}
		if st, err := trust.LoadStore(ks.host.TrustPath()); err == nil && hadKey(st, filepath.Base(path)) {
			return fault.New(fault.NotFound, "no signing key at %s, where one of your keys was", path).Advise("rye help lost-key explains the steps; rye key new makes another key")
		}
		return fault.New(fault.NotFound, "no signing key at %s", path).Mend("rye key new")
	case fault.Malformed:
		return fault.Wrap(err, "the signing key is damaged").With(aside(ks.host, path))
	}
	return err
}

// hadKey reports whether the trust store names a key of this file that is in use.
func hadKey(st *trust.Store, name string) bool {
	return slices.ContainsFunc(st.Own(), func(o trust.OwnKey) bool { return o.Name == name && o.Retired == "" })
}

// aside returns the command that moves a damaged key file out of the directory of keys. It
// returns none for a file in another place, which the user named.
func aside(h *session.Host, path string) fault.Hint {
	raw, err := place.Read(path, maxDamaged)
	if err != nil || filepath.Dir(path) != h.KeyDir() {
		return fault.Advice("restore %s from a backup, or name another file in RYE_KEY", path)
	}
	return fault.Command("mv %s %s", path, trust.Aside(filepath.Join(h.ConfigDir, filepath.Base(path)), raw))
}

// maxDamaged bounds the file to move aside, in bytes: a larger one is no key at all.
const maxDamaged = 1 << 20

// reach returns a signer for a key that an agent or a service holds. It contacts the holder of
// the signing key only once.
func (ks *Keys) reach(ctx context.Context, name string) (trust.Signer, error) {
	if name == ks.Key {
		return ks.Signer(ctx)
	}
	return ks.dial(ctx, name)
}

// dial asks an agent or a service for a key.
func (ks *Keys) dial(ctx context.Context, name string) (trust.Signer, error) {
	if uri, ok := strings.CutPrefix(name, fromService); ok {
		return ks.dialService(ctx, uri)
	}
	if ks.Agent == "" {
		return nil, fault.New(fault.Auth, "the key is %q, and no ssh-agent is running: SSH_AUTH_SOCK is not set", name).
			Advise("eval $(ssh-agent), then ssh-add the key")
	}
	fp, err := ks.agentKey(ctx, name)
	if err != nil {
		return nil, err
	}
	return trust.AgentSigner(ctx, ks.Agent, fp)
}

// agentKey returns the agent's key that name spells out, or its only key.
func (ks *Keys) agentKey(ctx context.Context, name string) (fp objects.Fingerprint, err error) {
	if _, text, given := strings.Cut(name, ":"); given {
		if fp, err = objects.ParseFingerprint(text); err != nil {
			return fp, fault.New(fault.Usage, "key %q: want agent:SHA256:... as ssh-add -l shows it: %w", name, err)
		}
		return fp, nil
	}
	keys, err := trust.AgentKeys(ctx, ks.Agent)
	if err != nil {
		return fp, err
	}
	switch len(keys) {
	case 0:
		return fp, fault.New(fault.NotFound, "the ssh-agent holds no plain Ed25519 key").Mend("ssh-add the key")
	case 1:
		return keys[0].Fingerprint(), nil
	}
	var list []string
	for _, k := range keys {
		list = append(list, k.String())
	}
	return fp, fault.New(fault.Usage, "the ssh-agent holds %d Ed25519 keys (%s); choose one", len(keys), strings.Join(list, ", ")).
		Advise("RYE_KEY=agent:%s", list[0])
}

// serviceWait bounds one exchange with a key service, where a person may have to
// touch something.
const serviceWait = 2 * time.Minute

// serviceSigner signs with a key service. It verifies each answer before it returns it: this
// detects a service that signs a digest in place of the message.
type serviceSigner struct {
	uri     string
	pub     trust.PublicKey
	service func(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error)
}

func (ks *Keys) dialService(ctx context.Context, uri string) (trust.Signer, error) {
	if ks.KeyService == nil {
		return nil, fault.New(fault.Auth, "the key is in a key service, which this program cannot reach").Advise("RYE_KEY=<name of a key file>")
	}
	s := &serviceSigner{uri: uri, service: ks.KeyService}
	a, err := s.ask(ctx, nil)
	if err != nil {
		return nil, err
	}
	s.pub, err = trust.ParsePublicKey(a.Public)
	return s, err
}

func (s *serviceSigner) ask(ctx context.Context, message []byte) (rye.KeyAnswer, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceWait)
	defer cancel()
	return s.service(ctx, s.uri, message)
}

func (s *serviceSigner) Public() trust.PublicKey { return s.pub }

func (s *serviceSigner) Sign(ctx context.Context, message []byte) ([]byte, error) {
	a, err := s.ask(ctx, message)
	if err != nil {
		return nil, err
	}
	if !s.pub.Verify(message, a.Signature) {
		return nil, fault.New(fault.Integrity, "sign with %s in the key service: its signature does not verify", s.pub)
	}
	return a.Signature, nil
}

// Known refuses a signing key that is retired (fault.Revoked) or unknown to the trust store
// (fault.Untrusted): its new signatures would not be trusted here.
func (ks *Keys) Known(st *trust.Store, k trust.Signer) error { return known(ks, st, k.Public()) }

func known(ks *Keys, st *trust.Store, pub trust.PublicKey) error {
	fp := pub.Fingerprint()
	if st.IsRetired(pub) {
		if _, err := os.Lstat(ks.Path(ks.Key) + nextSuffix); err == nil {
			return fault.New(fault.Revoked, "sign with %s: an unfinished rotation retired it", fp).Mend("rye key rotate %s", ks.Key)
		}
		return fault.New(fault.Revoked, "sign with %s: it is retired and can sign nothing new", fp).Advise("rye key list")
	}
	if _, ok := st.Key(fp); ok {
		return nil
	}
	err := fault.New(fault.Untrusted, "sign with %s: it is not one of your keys", fp)
	if Held(ks.Key) {
		return err.Mend("rye key import %s", ks.Key)
	}
	return err.Mend("rye key import %s %s", ks.Path(ks.Key), ks.Key)
}
