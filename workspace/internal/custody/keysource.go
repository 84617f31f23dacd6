package custody

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
	"github.com/rye-os/rye/workspace/internal/session"
)

// A key is named by its file among the keys, by a path, or by who holds it:
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

// Held reports whether somebody else than a file holds the key called name.
func Held(name string) bool {
	return name == fromAgent || strings.HasPrefix(name, fromAgent+":") || strings.HasPrefix(name, fromService)
}

// Keys are the user's keys, of which one signs. It is safe for concurrent use.
type Keys struct {
	host *session.Host
	Options

	mu   sync.Mutex
	held trust.Signer // reached already, so that an agent or a service is asked only once which key it is
}

// Options say which key signs and how it is reached.
type Options struct {
	Name       string                 // a file's name or path, agent[:SHA256:...] or kms:<address>
	Agent      string                 // the ssh-agent's socket; "" for none
	Passphrase func() ([]byte, error) // nil when nobody can be asked
	Service    func(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error)
}

// New returns the keys of a host.
func New(h *session.Host, o Options) *Keys { return &Keys{host: h, Options: o} }

// At returns the same keys, for another project of the same user.
func (ks *Keys) At(h *session.Host) *Keys {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	return &Keys{host: h, Options: ks.Options, held: ks.held}
}

// With returns keys of which another one signs.
func (ks *Keys) With(h *session.Host, key trust.Signer) *Keys {
	return &Keys{host: h, Options: ks.Options, held: key}
}

// serviceWait bounds one exchange with a key service, where a person may have to
// touch something.
const serviceWait = 2 * time.Minute

// Signer returns the signing key. A missing one is an error with its remedy:
// only Init and the commands that make keys make any.
func (ks *Keys) Signer(ctx context.Context) (trust.Signer, error) {
	ks.mu.Lock()
	defer ks.mu.Unlock()
	if ks.held == nil && !Held(ks.Name) {
		k, err := trust.LoadKey(ks.Path(ks.Name), ks.Passphrase)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "no signing key at %s", ks.Path(ks.Name)).Mend("rye key new")
		}
		if err != nil {
			return nil, err
		}
		return k, nil
	}
	if ks.held == nil {
		s, err := ks.reach(ctx, ks.Name)
		if err != nil {
			return nil, err
		}
		ks.held = s
	}
	return ks.held, nil
}

// reach returns a signer whose private key somebody else holds.
func (ks *Keys) reach(ctx context.Context, name string) (trust.Signer, error) {
	if uri, ok := strings.CutPrefix(name, fromService); ok {
		return ks.reachService(ctx, uri)
	}
	if ks.Agent == "" {
		return nil, fault.New(fault.Auth, "the key is %q, and no ssh-agent is running: SSH_AUTH_SOCK is not set", name).
			Advise("eval $(ssh-agent), then ssh-add the key")
	}
	_, text, given := strings.Cut(name, ":")
	if !given {
		fp, err := ks.onlyAgentKey(ctx)
		if err != nil {
			return nil, err
		}
		return trust.AgentSigner(ctx, ks.Agent, fp)
	}
	fp, err := objects.ParseFingerprint(text)
	if err != nil {
		return nil, fault.New(fault.Usage, "key %q: want agent:SHA256:... as ssh-add -l shows it: %w", name, err)
	}
	return trust.AgentSigner(ctx, ks.Agent, fp)
}

func (ks *Keys) onlyAgentKey(ctx context.Context) (objects.Fingerprint, error) {
	keys, err := trust.AgentKeys(ctx, ks.Agent)
	if err != nil {
		return objects.Fingerprint{}, err
	}
	switch len(keys) {
	case 0:
		return objects.Fingerprint{}, fault.New(fault.NotFound, "the ssh-agent holds no plain Ed25519 key").Mend("ssh-add the key")
	case 1:
		return keys[0].Fingerprint(), nil
	}
	var list []string
	for _, k := range keys {
		list = append(list, k.String())
	}
	return objects.Fingerprint{}, fault.New(fault.Usage, "the ssh-agent holds %d Ed25519 keys (%s): say which", len(keys), strings.Join(list, ", ")).
		Advise("RYE_KEY=agent:%s", list[0])
}

// serviceSigner signs with a key service. Each answer is verified before it is
// returned: a service that signs a digest in place of the message is found out.
type serviceSigner struct {
	uri string
	pub trust.PublicKey
	ask func(ctx context.Context, uri string, message []byte) (rye.KeyAnswer, error)
}

func (ks *Keys) reachService(ctx context.Context, uri string) (trust.Signer, error) {
	if ks.Service == nil {
		return nil, fault.New(fault.Auth, "the key is in a key service, and this program cannot reach one").Advise("RYE_KEY=<name of a key file>")
	}
	s := &serviceSigner{uri: uri, ask: ks.Service}
	ctx, cancel := context.WithTimeout(ctx, serviceWait)
	defer cancel()
	a, err := s.ask(ctx, uri, nil)
	if err != nil {
		return nil, err
	}
	s.pub, err = trust.ParsePublicKey(a.Public)
	return s, err
}

func (s *serviceSigner) Public() trust.PublicKey { return s.pub }

func (s *serviceSigner) Sign(ctx context.Context, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, serviceWait)
	defer cancel()
	a, err := s.ask(ctx, s.uri, message)
	if err != nil {
		return nil, err
	}
	if !s.pub.Verify(message, a.Signature) {
		return nil, fault.New(fault.Integrity, "sign with %s in the key service: it returned a signature that does not verify", s.pub)
	}
	return a.Signature, nil
}

// Claim believes a key as the user's own, unless it is already.
func (ks *Keys) Claim(k trust.Signer, name string, namespaces ...string) error {
	return trust.Update(ks.host.TrustPath(), func(st *trust.Store) error {
		if st.IsOwn(k.Public()) && len(namespaces) == 0 {
			return nil
		}
		return st.AddOwn(k.Public(), name, namespaces...)
	})
}

// Known refuses to sign with a key that the trust store has never heard of: nothing
// that it signed would count here.
func (ks *Keys) Known(st *trust.Store, k trust.Signer) error {
	fp := k.Public().Fingerprint()
	if st.IsRetired(k.Public()) {
		return fault.New(fault.Revoked, "sign with %s: it was retired, and vouches for nothing new", fp).Mend("rye key list")
	}
	if _, ok := st.Key(fp); ok {
		return nil
	}
	err := fault.New(fault.Untrusted, "sign with %s: this key is not among yours", fp)
	if Held(ks.Name) {
		return err.Mend("rye key import %s", ks.Name)
	}
	return err.Mend("rye key import %s %s", ks.Path(ks.Name), ks.Name)
}

// HeldName is how a key that somebody else holds is called in the trust store. A
// service's address stays out of it: it may hold what is nobody's business.
func HeldName(name string) string {
	if strings.HasPrefix(name, fromService) {
		return "key service"
	}
	return "ssh-agent"
}
