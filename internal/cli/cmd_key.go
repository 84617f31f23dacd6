package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/words"
)

func keyCommand() *spec {
	return &spec{
		name: "key", group: "Trust",
		short: "Create, import, protect and replace signing keys",
		long: `Keys are Ed25519 in OpenSSH's format, so ssh-keygen, ssh-agent and git can use them.
RYE_KEY selects the signing key: its name (default), a path, agent or agent:SHA256:…
for a key in your ssh-agent, or kms:<name>://<key> for a key in a key service, which
rye reaches through sigstore's plug-in sigstore-kms-<name>.`,
		examples: "rye key new\nrye key show --ssh    # for a forge, or for another trust store\nrye key rotate --dry-run",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Untrusted, fault.Denied, fault.Malformed},
		subs:     []*spec{keyNew(), keyImport(), keyExport(), keyRotate(), keyPassphrase(), keyList(), keyShow()},
	}
}

func keyNew() *spec {
	var q rye.KeyNewRequest
	var protect bool
	return &spec{
		name: "new", args: "[name]",
		short:    "Create a key",
		examples: "rye key new\nrye key new work --namespace acme --passphrase",
		exits:    []fault.Code{fault.Usage, fault.Conflict, fault.Denied},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "namespace", Destination: &q.Namespace, Usage: "claim this `namespace` for it, on this machine"},
			&cli.BoolFlag{Name: "passphrase", Destination: &protect, Usage: "protect it with a passphrase; the terminal asks twice"},
		},
		max: 1, arg: &q.Name,
		run: func(t *task) (err error) {
			if protect {
				if q.Passphrase, err = t.newPassphrase(); err != nil {
					return err
				}
			}
			return answer(t, t.w.Keys().New, q, printKeyMade)
		},
	}
}

func printKeyMade(p *printer, k *rye.KeyInfo) {
	p.printf("%s  %s\n", bold(k.Name), k.Fingerprint)
	if k.Path != "" {
		p.printf("%s\n", k.Path)
	}
}

// newPassphrase asks twice. It reads only from a terminal, never from a file or the
// environment.
func (t *task) newPassphrase() ([]byte, error) {
	first, err := t.env.ReadSecret(t.ctx, "new passphrase")
	if err != nil {
		return nil, err
	}
	again, err := t.env.ReadSecret(t.ctx, "repeat it")
	if err != nil {
		return nil, err
	}
	if len(first) == 0 || string(first) != string(again) {
		return nil, fault.New(fault.Usage, "new passphrase: the two entries differ, or are empty")
	}
	return first, nil
}

func keyImport() *spec {
	var q rye.KeyImportRequest
	return &spec{
		name: "import", args: "<file | agent[:SHA256:…] | kms:…> [name]",
		short: "Import an existing key",
		long: `A file is a private key in OpenSSH's format, which keeps its passphrase, or
private_key.pem of RYE OS (PKCS#8, not encrypted). Only you may have read access to it. A
file of rye key export --for is opened by the private key of --identity. A key in the ssh-agent or in a key service stays there. It signs once as a proof, and is
then one of your keys.`,
		examples: "rye key import ~/.ssh/id_ed25519 work\nrye key import ~/.ai/keys/private_key.pem\nrye key import ~/rye-key.age laptop --identity ~/.ssh/laptop\nrye key import agent:SHA256:…",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Integrity, fault.Untrusted, fault.Revoked, fault.Malformed, fault.Limit},
		flags: []cli.Flag{
			&cli.StringFlag{Name: "namespace", Destination: &q.Namespace, Usage: "claim this `namespace` for it, on this machine"},
			&cli.StringFlag{Name: "identity", Destination: &q.Identity, Usage: "private SSH key, or identity `file` of age, that opens an encrypted file"},
			dryRun(&q.DryRun),
		},
		heavy: func([]string) bool { return q.Identity != "" },
		min:   1, max: 2,
		run: func(t *task) error {
			q.Open = t.parts.Open
			if q.Identity != "" {
				q.Identity = t.path(q.Identity)
			}
			q.From, q.Name = t.keySource(t.args[0]), t.arg(1)
			return answer(t, t.w.Keys().Import, q, func(p *printer, k *rye.KeyInfo) {
				printKeyMade(p, k)
				if q.DryRun {
					p.infof("nothing was imported: --dry-run")
				}
			})
		},
	}
}

// keySource makes a file's path absolute and leaves other sources unchanged.
func (t *task) keySource(arg string) string {
	if arg == "agent" || strings.HasPrefix(arg, "agent:") || strings.HasPrefix(arg, "kms:") {
		return arg
	}
	return t.path(arg)
}

func keyExport() *spec {
	var q rye.KeyExportRequest
	var encrypt bool
	return &spec{
		name: "export", args: "[name]",
		short: "Export a key, for a backup or another program",
		long: `Without --public this is the private key, and needs your consent. It goes to
standard output, or with -o to a new file that only you can read. OpenSSH's format
keeps the passphrase; --pem (PKCS#8, for RYE OS) has none. --encrypt asks you at the
terminal, and then for a passphrase of the file; rye key import and ssh-keygen read it.
--for encrypts the file to another SSH key, for example of your second laptop; rye key
import --identity and the program age read it. A private key is not written into a
repository or a project.`,
		examples: "rye key export --public > alice.pub\nrye key export --for laptop.pub -o ../rye-key.age\nrye key export --encrypt -o ~/rye-key.backup\nrye key export work -o ../work.backup\nrye key export --pem -o ../private_key.pem",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Auth, fault.Denied, fault.Malformed},
		flags: []cli.Flag{
			&cli.BoolFlag{Name: "public", Destination: &q.Public, Usage: "the public half"},
			&cli.BoolFlag{Name: "pem", Destination: &q.PEM, Usage: "in the format of RYE OS: PKCS#8, or SubjectPublicKeyInfo"},
			&cli.StringFlag{Name: "for", Destination: &q.For, Usage: "encrypt it to the SSH key or age recipient in this public `file`"},
			&cli.BoolFlag{Name: "encrypt", Destination: &encrypt, Usage: "encrypt the file with a passphrase that the terminal asks for twice"},
			&cli.StringFlag{Name: "output", Aliases: []string{"o"}, Destination: &q.Out, Usage: "`file` to write, which must not exist; mode 0600"},
		},
		heavy: func([]string) bool { return q.For != "" },
		max:   1, arg: &q.Name,
		run: func(t *task) error {
			q.Seal = t.parts.Seal
			if q.Out != "" {
				q.Out = t.path(q.Out)
			}
			if q.For != "" {
				q.For = t.path(q.For)
			}
			if encrypt {
				q.Encrypt = t.newPassphrase
			}
			return answer(t, t.w.Keys().Export, q, func(p *printer, k *rye.KeyExport) {
				if k.Out != "" {
					p.infof("%s written to %s", k.Fingerprint, k.Out)
				}
				p.content(k.Text)
			})
		},
	}
}

func keyRotate() *spec {
	var q rye.KeyRotateRequest
	return &spec{
		name: "rotate", args: "[name]",
		short: "Replace a key, here and in registries",
		long: `In every registry namespace where the old key is current, rye adds the new key with its
own proof and retires the old one. Then the files change places, and the old key stays as
<name>.retired-<date>. Its existing signatures stay valid in your user space, in this
project and in the projects named with --project, on the present and the recorded files.
Later signatures of the old key are refused (12), whatever their date. With --resign the
new key also signs the present files. After an interruption, run the command again: it
continues where it stopped. For a stolen key, also run rye trust deny.`,
		examples: "rye key rotate --dry-run\nrye key rotate work --resign\nrye key rotate --project ../site --project ../notes",
		exits: []fault.Code{fault.Usage, fault.NotFound, fault.Conflict, fault.Network, fault.Auth, fault.Integrity, fault.Untrusted, fault.Revoked,
			fault.Rollback, fault.Denied, fault.Offline, fault.Malformed},
		flags: []cli.Flag{
			dryRun(&q.DryRun),
			&cli.BoolFlag{Name: "local", Destination: &q.Local, Usage: "do not change the registries; they keep naming the old key"},
			&cli.BoolFlag{Name: "resign", Destination: &q.Resign, Usage: "sign the old key's files with the new key"},
			repeated("project", &q.Also, "`directory` of another project where the old key signed; repeatable"),
			&cli.BoolFlag{Name: "passphrase", Destination: &q.Protect, Usage: "protect the new key even if the old one had no passphrase"},
		},
		max: 1, arg: &q.Name,
		run: func(t *task) error {
			q.Ask = func() ([]byte, error) { return t.newPassphrase() }
			q.Also = t.paths(q.Also)
			rep, err := t.w.Keys().Rotate(t.ctx, t.env.Caller, q)
			if rep != nil && (err == nil || rep.New != "") {
				if perr := t.out.show(rep, func() { t.out.printRotation(rep, err == nil) }); perr != nil {
					return perr
				}
			}
			return err
		},
	}
}

func (p *printer) printRotation(rep *rye.KeyRotation, done bool) {
	p.printf("old  %s\n", rep.Old)
	switch {
	case rep.DryRun:
		p.printf("     would be kept as %s\n", rep.Retired)
	case done:
		p.printf("     kept as %s\n", rep.Retired)
	default:
		p.printf("     still the key %s: the rotation stopped\n", rep.Name)
	}
	p.printf("     its signatures stay valid on %s, in %s\n", words.Plural(rep.Kept, "file"), listed(rep.Places))
	if rep.New != "" {
		p.printf("new  %s\n", rep.New)
	}
	if rep.Resigned > 0 {
		p.printf("     signed again: %s\n", words.Plural(rep.Resigned, "file"))
	}
	if rep.Elsewhere > 0 {
		p.infof("%s of yours not checked: run rye diff and rye sign there", words.Plural(rep.Elsewhere, "other project"))
	}
	for _, n := range rep.Namespaces {
		mark := good(n.Status)
		if n.Status == "left" {
			mark = bad(n.Status)
		}
		p.printf("%s  %s/ in %s: %s\n", mark, n.Namespace, n.URL, prose(n.Text))
	}
	for _, id := range rep.Roots {
		p.printf("%s  the old key is a root key of registry %s: rye registry root add, approve and remove\n", bad("left"), id)
	}
	if len(rep.SignAgain) > 0 && done {
		p.infof("next: %s", typed(append([]string{"rye", "sign"}, rep.SignAgain...)...))
	}
}

func keyPassphrase() *spec {
	var q rye.KeyPassphraseRequest
	var remove bool
	return &spec{
		name: "passphrase", args: "[name]",
		short:    "Change, add or remove the passphrase of a key",
		long:     "rye asks for it at the terminal and never takes it from a file or the environment.",
		examples: "rye key passphrase\nrye key passphrase work --remove",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Auth, fault.Denied, fault.Malformed},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "remove", Destination: &remove, Usage: "remove the passphrase"}},
		max:      1, arg: &q.Name,
		run: func(t *task) error {
			if !remove {
				q.Ask = func() ([]byte, error) { return t.newPassphrase() }
			}
			return answer(t, t.w.Keys().SetPassphrase, q, func(p *printer, k *rye.KeyInfo) {
				if k.Protected {
					p.infof("%s has the new passphrase", k.Name)
				} else {
					p.infof("%s has no passphrase", k.Name)
				}
			})
		},
	}
}

func keyList() *spec {
	return &spec{
		name: "list", aliases: []string{"ls"}, short: "List the keys of this machine",
		examples: "rye key list",
		exits:    []fault.Code{fault.Usage, fault.Auth, fault.Untrusted, fault.Malformed},
		run: func(t *task) error {
			return answerRows(t, bare(t.w.Keys().List), none, "", func(k rye.KeyInfo) []any {
				return []any{bold(k.Name), k.Fingerprint, strings.Join(k.Namespaces, ", "), keyNotes(&k), faint(k.Path)}
			})
		},
	}
}

// keyNotes returns the special properties of a key.
func keyNotes(k *rye.KeyInfo) string {
	var notes []string
	if k.Protected {
		notes = append(notes, "passphrase")
	}
	if k.Retired {
		notes = append(notes, "retired")
	}
	if k.State != "" {
		notes = append(notes, k.State)
	}
	return strings.Join(notes, ", ")
}

func keyShow() *spec {
	var q rye.KeyRequest
	var ssh bool
	return &spec{
		name: "show", args: "[name | fingerprint]", short: "Show a public key",
		examples: "rye key show\nrye key show work --ssh",
		exits:    []fault.Code{fault.Usage, fault.NotFound, fault.Auth, fault.Untrusted, fault.Malformed},
		flags:    []cli.Flag{&cli.BoolFlag{Name: "ssh", Destination: &ssh, Usage: "as one line of an authorized_keys file"}},
		max:      1, arg: &q.Name,
		run: func(t *task) error {
			return answer(t, t.w.Keys().Show, q, func(p *printer, k *rye.KeyInfo) { p.printKey(k, ssh) })
		},
	}
}

func (p *printer) printKey(k *rye.KeyInfo, ssh bool) {
	if ssh {
		p.printf("%s\n", k.SSH)
		return
	}
	p.printf("%s  %s\n%s\n", bold(k.Name), k.Fingerprint, k.SSH)
	if notes := keyNotes(k); notes != "" {
		p.printf("%s\n", prose(notes))
	}
	if k.Path != "" {
		p.printf("%s\n", k.Path)
	}
}
