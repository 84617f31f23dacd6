package cli

// A topic explains a subject that is not a command, in half a screen, and says where to read
// more.
type topic struct{ name, text string }

var topics = []topic{
	{"trust", `A valid signature says that a key signed these bytes. Whether the key counts is your
decision, kept in your own configuration and never in a project.

Your own keys count in your user space and in the projects that you made or accepted. Other
keys count for the namespaces and the places for which you granted them. The library counts
through the manifest that is compiled into rye. Denied keys and bytes count nowhere.

  rye trust                      what this directory asks you to believe; one question
  rye trust list                 what is believed, and what is not
  rye trust explain <ref>        why an item is believed, or why not
  rye trust deny <key>           never again

The command's own help: rye trust --help`},
	{"locks", `.ai/rye.lock pins what tools run: each by its version and the SHA-256 of its bytes, with
everything that runs it and the files that it loads.

Your own items run when they were changed since, and rye says so. Items of a registry run as
they are pinned or not at all.

  rye lock [ref…]                pin what is here now; says what changed
  rye lock verify                compare; drift is exit 18
  rye execute <ref> --locked     refuse what differs from the lock
  rye execute <ref> --pinned     run the pinned bytes, whatever the working tree holds
  rye update --dry-run           which newer versions there are`},
	{"spaces", `An item is looked for in three spaces, and the first that has it answers for it, also when
what it has is refused:

  project   .ai/ of the nearest directory above that has .ai/rye.yaml, then what its lock brings
  user      ~/.ai, or $RYE_USER/.ai: yours, in every project
  system    rye's library, compiled in; nobody changes it

  rye list --space user          what one space holds
  rye show <ref> --all           what an item stands before
  rye new tool tidy --space user
  rye copy <ref> --to user       byte for byte, with its signature`},
	{"capabilities", `Nothing is permitted unless a capability says so: rye.<verb>.<kind>.<id with dots>, where
the verb is search, load, execute or sign, and * stands for any text.

  rye.execute.tool.acme.*        every tool of acme, at any depth
  rye.load.knowledge.*           all knowledge

You, at a terminal, hold all of them. An MCP client searches, loads and executes; what it
signs you approve. A thread holds what its directive declares, and what it starts holds no
more. policy.yaml, in the project or in your configuration, only narrows.

  rye policy explain <ref>       what would be decided, and by which rule
  rye policy log                 what was decided`},
	{"sandbox", `A tool runs with limits that it gets before its first instruction. What it may reach is
what it says under needs, in its signed text:

  needs: {read: [data], write: [out], net: ["api.example.com:443"]}
  limits: {memory: 1GiB, time: 60s}

A tool of your own that says nothing reads and writes the project and reaches the web; one of
a registry reads the project and has no network. No tool sees your home directory, keys, other
projects, or writes .ai. What runs by itself in a project, such as .envrc, is read-only.

  rye execute <ref> --dry-run    what it would reach, and what cannot be limited here
  rye show <ref>                 its needs and limits
  rye doctor                     which sandbox this system has`},
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
