package rye

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/objects"
	"github.com/rye-os/rye/objects/trust"
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

// held reports whether somebody else than a file holds the key called name.
func held(name string) bool {
	return name == fromAgent || strings.HasPrefix(name, fromAgent+":") || strings.HasPrefix(name, fromService)
}

// serviceWait bounds one exchange with a key service, where a person may have to
// touch something.
const serviceWait = 2 * time.Minute

// keyring remembers who was reached, so that one run asks an agent or a service
// only once which key it is.
type keyring struct {
	mu     sync.Mutex
	signer trust.Signer
}

// signer returns the signing key for callers that have no context; what it waits
// for is bounded.
func (r *Rye) signer() (trust.Signer, error) { return r.signerFor(context.Background()) }

// signerFor returns the signing key. A missing one is an error with its remedy:
// only Init and the commands that make keys make any.
func (r *Rye) signerFor(ctx context.Context) (trust.Signer, error) {
	if !held(r.o.Key) {
		k, err := trust.LoadKey(r.keyPath(r.o.Key), r.o.Passphrase)
		if fault.Is(err, fault.NotFound) {
			return nil, fault.New(fault.NotFound, "no signing key at %s", r.keyPath(r.o.Key)).Mend("rye key new")
		}
		if err != nil {
			return nil, err
		}
		return k, nil
	}
	r.ring.mu.Lock()
	defer r.ring.mu.Unlock()
	if r.ring.signer == nil {
		s, err := r.reach(ctx, r.o.Key)
		if err != nil {
			return nil, err
		}
		r.ring.signer = s
	}
	return r.ring.signer, nil
}

// reach returns a signer whose private key somebody else holds.
func (r *Rye) reach(ctx context.Context, name string) (trust.Signer, error) {
	if uri, ok := strings.CutPrefix(name, fromService); ok {
		return r.reachService(ctx, uri)
	}
	if r.o.Agent == "" {
		return nil, fault.New(fault.Auth, "the key is %q, and no ssh-agent is running: SSH_AUTH_SOCK is not set", name).
			Advise("eval $(ssh-agent), then ssh-add the key")
	}
	_, text, given := strings.Cut(name, ":")
	if !given {
		fp, err := r.onlyAgentKey(ctx)
		if err != nil {
			return nil, err
		}
		return trust.AgentSigner(ctx, r.o.Agent, fp)
	}
	fp, err := objects.ParseFingerprint(text)
	if err != nil {
		return nil, fault.New(fault.Usage, "key %q: want agent:SHA256:... as ssh-add -l shows it: %w", name, err)
	}
	return trust.AgentSigner(ctx, r.o.Agent, fp)
}

func (r *Rye) onlyAgentKey(ctx context.Context) (objects.Fingerprint, error) {
	keys, err := trust.AgentKeys(ctx, r.o.Agent)
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
	ask func(ctx context.Context, uri string, message []byte) (KeyAnswer, error)
}

func (r *Rye) reachService(ctx context.Context, uri string) (trust.Signer, error) {
	if r.o.KeyService == nil {
		return nil, fault.New(fault.Auth, "the key is in a key service, and this program cannot reach one").Advise("RYE_KEY=<name of a key file>")
	}
	s := &serviceSigner{uri: uri, ask: r.o.KeyService}
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

// claim believes a key as the user's own, unless it is already.
func (r *Rye) claim(k trust.Signer, name string, namespaces ...string) error {
	return trust.Update(r.trustPath(), func(st *trust.Store) error {
		if st.IsOwn(k.Public()) && len(namespaces) == 0 {
			return nil
		}
		return st.AddOwn(k.Public(), name, namespaces...)
	})
}

// known refuses to sign with a key that the trust store has never heard of: nothing
// that it signed would count here.
func (s *session) known(k trust.Signer) error {
	fp := k.Public().Fingerprint()
	if s.trust.IsRetired(k.Public()) {
		return fault.New(fault.Revoked, "sign with %s: it was retired, and vouches for nothing new", fp).Mend("rye key list")
	}
	if _, ok := s.trust.Key(fp); ok {
		return nil
	}
	from := s.r.o.Key
	if !held(from) {
		from = s.r.keyPath(from) + " " + from
	}
	return fault.New(fault.Untrusted, "sign with %s: this key is not among yours", fp).Mend("rye key import %s", from)
}

// heldName is how a key that somebody else holds is called in the trust store. A
// service's address stays out of it: it may hold what is nobody's business.
func heldName(name string) string {
	if strings.HasPrefix(name, fromService) {
		return "key service"
	}
	return "ssh-agent"
}
