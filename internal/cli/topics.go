package cli

// A topic explains a subject that is not a command, in half a screen, and says where to read
// more.
type topic struct{ name, text string }

var topics = []topic{
	{"trust", `A valid signature proves that a key signed these bytes. You decide which keys to trust, and
the decision is in your own configuration, never in a project.

Your own keys are trusted in your user space and in the projects that you created or
accepted. Other keys are trusted in the namespaces and places that you granted them. The
library is trusted through the manifest in the rye program. Denied keys and bytes are
refused everywhere.

  rye trust                      what this directory asks you to trust; one question
  rye trust list                 the trusted keys and registries, and the denials
  rye trust explain <ref>        why an item is trusted, or why not
  rye trust deny <key>           never again

The command's own help: rye trust --help`},
	{"locks", `.ai/rye.lock pins tools: each by its version and the SHA-256 of its bytes, with everything
that runs it and the files that it loads.

Your own items run even after a change, and rye reports the change. Items of a registry run
only as they are pinned.

  rye lock [ref…]                pin the present items; shows the changes
  rye lock verify                compare; drift is exit 18
  rye run <ref> --locked     refuse if anything differs from the lock
  rye run <ref> --pinned     run the pinned bytes, not the working tree
  rye update --dry-run           list newer versions`},
	{"spaces", `rye looks for an item in three spaces. The first space that has it decides, even if its item
is refused:

  project   .ai/ of the nearest directory above that has .ai/rye.yaml, then its locked items
  user      ~/.ai, or $RYE_USER/.ai: yours, in every project
  system    rye's library, compiled in and unchangeable

  rye list --space user          the items of one space
  rye show <ref> --all           the item in every space
  rye new tool tidy --space user
  rye add <ref> --space user       byte for byte, with its signature`},
	{"capabilities", `Nothing is permitted without a capability: rye.<verb>.<kind>.<id with dots>. The verb is
search, load, execute or sign, and * stands for any text.

  rye.execute.tool.acme.*        every tool of acme, at any depth
  rye.load.knowledge.*           all knowledge

You, at a terminal, hold all of them. An MCP client may search, load and execute; you
approve each signature. A thread holds the capabilities of its directive, and its children
hold no more. policy.yaml, in the project or in your configuration, only narrows.

  rye policy explain <ref>       the decision about a tool, and its rule
  rye policy log                 past decisions`},
	{"sandbox", `A tool runs with limits that apply from its first instruction. Its signed text declares what
it may reach, under needs:

  needs: {read: [data], write: [out], net: ["api.example.com:443"]}
  limits: {memory: 1GiB, time: 60s}

Without needs, your own tool reads and writes the project and reaches the web; a tool of a
registry reads the project and has no network. No tool sees your home directory, keys or
other projects, or writes .ai. Files that other programs run by themselves, such as .envrc,
are read-only.

  rye run <ref> --dry-run    its reach, and the limits that are missing here
  rye show <ref>                 its needs and limits
  rye doctor                     the sandbox of this system`},
	{"lost-key", `A key that is gone is LOST when nobody else can have it, and STOLEN otherwise. A second laptop
is neither: it gets a key of its own.

A second laptop. Make a key there, and let the first laptop add it:
  there   rye key new && rye key show --ssh
  here    rye trust pin 'ssh-ed25519 …' --namespace acme --space project
  here    rye trust backup ~/trust.backup     then there: rye trust restore, rye trust
The same key on both: rye key export --encrypt -o FILE, and there rye key import FILE.

Lost. Its signatures stay valid; make a new key and let it be known:
  member  rye key new, then send rye key show --ssh to an owner of the project
  owner   rye trust pin '<new key>' --namespace acme --space project; commit .ai
          in a registry another owner: rye registry members acme --add '<key and proof>'
  root    the other root keys: rye registry root add, approve, commit
With an encrypted copy: rye key import FILE, and nothing changed.

Stolen. Deny it first, then do the same:
  you     rye trust deny SHA256:… --reason stolen
  owner   rye trust deny SHA256:… --share --namespace acme; commit .ai
          in a registry rye registry revoke-key acme SHA256:… --reason stolen
  root    the other root keys: rye registry root remove SHA256:…
Items that only the stolen key signed are refused from then on. Look at each with rye diff,
and sign it again with rye sign.

All of it: docs/keys.md`},
}

func topicNames() (names []string) {
	for _, t := range topics {
		names = append(names, t.name)
	}
	return names
}

// topicOf returns the text of a topic, or "". The singular form of its name is accepted, too.
func topicOf(name string) string {
	for _, t := range topics {
		if t.name == name || t.name == name+"s" {
			return t.text
		}
	}
	return ""
}

func (p *printer) printTopic(text string) {
	if p.columns > 0 && p.columns < helpColumns {
		text = joined(text)
	}
	p.page(text + "\n")
}

// aboutTopic returns the text of the topic in the arguments of help, or "". For "lock" it
// returns "", because users more often mean the command; "trust" covers both.
func aboutTopic(args []string) string {
	if len(args) != 1 || args[0] == "lock" {
		return ""
	}
	return topicOf(args[0])
}
