package trust

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
	"github.com/rye-os/rye/objects"
)

// agentWait bounds one exchange with an agent, if the context has no earlier
// deadline. It is long because an agent may ask a person to confirm.
const agentWait = 2 * time.Minute

// AgentSigner returns a signer whose private key stays in the ssh-agent that
// listens at sock: a path, or on Windows a named pipe. The key with fingerprint
// fp must be there now (NotFound) and be a plain Ed25519 key. Each signature opens a
// new connection and is verified before it is returned.
func AgentSigner(ctx context.Context, sock string, fp objects.Fingerprint) (Signer, error) {
	keys, err := agentKeys(ctx, sock)
	if err != nil {
		return nil, err
	}
	for _, k := range keys {
		if ssh.FingerprintSHA256(k) == fp.String() {
			pub, err := parseWire(k.Blob)
			if err != nil {
				return nil, err
			}
			return &agentSigner{sock, pub}, nil
		}
	}
	return nil, fault.New(fault.NotFound, "the ssh-agent has no key %s", fp).Advise("ssh-add the key; ssh-add -l lists its keys")
}

// AgentKeys lists the plain Ed25519 keys that the ssh-agent at sock holds now.
// It leaves out keys of other types, including hardware keys and certificates.
func AgentKeys(ctx context.Context, sock string) ([]PublicKey, error) {
	keys, err := agentKeys(ctx, sock)
	if err != nil {
		return nil, err
	}
	var all []PublicKey
	for _, k := range keys {
		if k.Format != keyType {
			continue
		}
		pub, err := parseWire(k.Blob)
		if err != nil {
			return nil, err
		}
		all = append(all, pub)
	}
	return all, nil
}

// agentKeys lists all keys that the agent holds.
func agentKeys(ctx context.Context, sock string) (keys []*agent.Key, err error) {
	err = askAgent(ctx, sock, func(a agent.ExtendedAgent) error {
		if keys, err = a.List(); err != nil {
			return fault.New(fault.Auth, "list the keys of the ssh-agent: %w", err)
		}
		return nil
	})
	return keys, err
}

type agentSigner struct {
	sock string
	pub  PublicKey
}

func (s *agentSigner) Public() PublicKey { return s.pub }

func (s *agentSigner) Sign(ctx context.Context, message []byte) ([]byte, error) {
	var sig *ssh.Signature
	err := askAgent(ctx, s.sock, func(a agent.ExtendedAgent) error {
		key, err := ssh.ParsePublicKey(s.pub.wire())
		if err != nil {
			return fault.New(fault.Failed, "sign with the ssh-agent: %w", err)
		}
		if sig, err = a.Sign(key, message); err != nil {
			return fault.New(fault.Auth, "sign with %s in the ssh-agent: %w", s.pub, err).Mend("ssh-add the key")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if sig.Format != keyType || !s.pub.Verify(message, sig.Blob) {
		return nil, fault.New(fault.Integrity, "sign with %s in the ssh-agent: it returned a signature that does not verify", s.pub)
	}
	return sig.Blob, nil
}

// askAgent runs f on a fresh connection, which ends when ctx does.
func askAgent(ctx context.Context, sock string, f func(agent.ExtendedAgent) error) error {
	ctx, cancel := context.WithTimeout(ctx, agentWait)
	defer cancel()
	conn, err := dialAgent(ctx, sock)
	if err != nil {
		return fault.New(fault.Auth, "reach the ssh-agent at %q: %w", words.Brief(sock), err).Advise("eval $(ssh-agent), then ssh-add the key")
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	err = f(agent.NewClient(conn))
	switch {
	case err == nil || ctx.Err() == nil:
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fault.New(fault.Auth, "the ssh-agent at %q does not answer: %w", words.Brief(sock), ctx.Err())
	}
	return ctx.Err()
}
