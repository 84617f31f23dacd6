package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye/fault"
)

// forges are the kinds of hosts with specific advice.
var forges = []string{"github", "gitlab", "gitea", "git"}

// forgeFlag is the flag for the kind of host.
func forgeFlag(into *string) cli.Flag {
	return &cli.StringFlag{Name: "forge", Destination: into, Usage: "the `kind` of host: github, gitlab, gitea (and Forgejo), git (default: by the registry's address)"}
}

// forgeOf returns the named kind of host, or the kind that an address looks like.
func forgeOf(named, url string) (string, error) {
	if named == "forgejo" {
		return "gitea", nil
	}
	if named != "" {
		if !slices.Contains(forges, named) {
			return "", fault.New(fault.Usage, "forge %q: want %s", named, strings.Join(forges, ", "))
		}
		return named, nil
	}
	for sign, forge := range map[string]string{"github": "github", "gitlab": "gitlab", "gitea": "gitea", "forgejo": "gitea", "codeberg": "gitea"} {
		if strings.Contains(strings.ToLower(url), sign) {
			return forge, nil
		}
	}
	return "git", nil
}

// registryURL returns the address of a registry of the project, or "" when there is none.
func (t *task) registryURL(name string) (string, error) {
	list, err := t.w.Registry().List(t.ctx, t.env.Caller)
	if fault.Is(err, fault.NotFound) && name == "" {
		return "", nil // advice needs no project
	}
	if err != nil {
		return "", err
	}
	for _, info := range list {
		if name == "" || info.Name == name {
			return info.URL, nil
		}
	}
	if name != "" {
		return "", fault.New(fault.NotFound, "registry %q: the project has no registry of this name", name).Advise("rye registry list")
	}
	return "", nil
}

// advice is a text for a forge.
type advice struct {
	Forge string `json:"forge"`
	Text  string `json:"text"`
}

func (t *task) advise(a advice) error {
	return t.out.show(a, func() { t.out.page(a.Text) })
}

func registryProtect() *spec {
	var forge, name string
	return &spec{
		name:  "protect",
		short: "Print how to protect a registry's branches on its host",
		long: `Readers refuse a rewound or forged log in any case; protected branches prevent one. This
command changes nothing. It prints instructions for the administrator of the host.`,
		examples: "rye registry protect\nrye registry protect --forge gitlab",
		exits:    []fault.Code{fault.Usage, fault.NotFound},
		flags:    []cli.Flag{forgeFlag(&forge), registryName(&name)},
		run: func(t *task) error {
			url, err := t.registryURL(name)
			if err != nil {
				return err
			}
			kind, err := forgeOf(forge, url)
			if err != nil {
				return err
			}
			return t.advise(advice{kind, protection + protections[kind]})
		},
	}
}

const protection = `main           only holders of the root push; no force push, no deletion
ns/**          members push; no force push, no deletion; ns/acme may be for team acme alone
content/**     members push; no deletion; force push for accounts that run rye registry rebuild

You can require signed commits on main and ns/**, because every operation is signed. A forge
shows them as verified if the key is a signing key of the account with that address.
Versions and states, which content/** merges, are unsigned: do not require signatures there.

`

var protections = map[string]string{
	"github": `GitHub: Settings > Rules > Rulesets, or, with your own OWNER/NAME:

gh api repos/OWNER/NAME/rulesets --method POST --input - <<'END'
{"name": "rye logs", "target": "branch", "enforcement": "active",
 "conditions": {"ref_name": {"include": ["refs/heads/main", "refs/heads/ns/**"], "exclude": []}},
 "rules": [{"type": "deletion"}, {"type": "non_fast_forward"}]}
END
gh api repos/OWNER/NAME/rulesets --method POST --input - <<'END'
{"name": "rye content", "target": "branch", "enforcement": "active",
 "conditions": {"ref_name": {"include": ["refs/heads/content/**"], "exclude": []}},
 "rules": [{"type": "deletion"}]}
END

To require signed commits, add {"type": "required_signatures"} to the first. To restrict force
pushes to the accounts that rebuild, add non_fast_forward to the second and put these accounts
on its bypass list. Do not require pull requests on these branches.
`,
	"gitlab": `GitLab: Settings > Repository > Protected branches, or, with your own HOST, PROJECT and TOKEN:

for branch in main 'ns/*'; do
  curl --fail -X POST -H "PRIVATE-TOKEN: $TOKEN" "https://HOST/api/v4/projects/PROJECT/protected_branches" \
    --data-urlencode "name=$branch" -d push_access_level=30 -d merge_access_level=0 -d allow_force_push=false
done
curl --fail -X POST -H "PRIVATE-TOKEN: $TOKEN" "https://HOST/api/v4/projects/PROJECT/protected_branches" \
  --data-urlencode "name=content/*" -d push_access_level=30 -d merge_access_level=0 -d allow_force_push=true

30 means developers, 40 means maintainers. A push cannot delete a protected branch. GitLab
protects main already if it is the default branch: delete that rule first. Signed commits are
a push rule of the whole project and would apply to content/** too: leave that rule off.
`,
	"gitea": `Gitea, Forgejo: Settings > Branches > Add new rule, in this order, because the first match
applies:

main           enable push for holders of the root
ns/**          enable push for members
content/**     enable push, and enable force push, for accounts that rebuild

A rule prevents the deletion of a branch and, without force push, its rewinding. If the host
has no force push in a rule, leave content/** without a rule. You can set "Require signed
commits" on main and ns/**.
`,
	"git": `Plain git: let the repository verify each push. In the directory of the bare repository:

printf '#!/bin/sh\nexec rye registry hook\n' > hooks/pre-receive
chmod +x hooks/pre-receive
git config receive.maxInputSize 1g

The hook refuses everything that readers would refuse, deletions, and rewound logs. Leave
receive.denyNonFastForwards unset, because rye registry rebuild rewinds content/**. The
server decides which accounts may push at all.
`,
}

func registryCI() *spec {
	var forge, name string
	return &spec{
		name: "ci", args: "[namespace…]",
		short: "Print a workflow that checks a bundle's sources or watches a registry",
		long: `Without a namespace, the workflow is for the repository with a package's sources: it
accepts the trust statement from the settings (rye trust --dry-run prints it, see
docs/ci.md) and checks that every item is signed and matches the lock. With namespaces, it
is for a repository beside the registry, and verifies them every hour. A registry's own
branches hold no workflow, so a push to them starts none.`,
		examples: "rye registry ci --forge github > .github/workflows/rye.yml\nrye registry ci acme --forge gitlab > .gitlab-ci.yml",
		exits:    []fault.Code{fault.Usage, fault.NotFound},
		flags:    []cli.Flag{forgeFlag(&forge), registryName(&name)},
		max:      many,
		run: func(t *task) error {
			url, err := t.registryURL(name)
			if err != nil {
				return err
			}
			kind, err := forgeOf(forge, url)
			if err != nil {
				return err
			}
			w := packageWorkflow
			if len(t.args) > 0 {
				if w, err = watchWorkflow(t.args); err != nil {
					return err
				}
			}
			return t.advise(advice{kind, w.text(kind)})
		},
	}
}

// workflow is a job for a build machine, independent of the forge.
type workflow struct {
	about string
	vars  []string // from the settings, never from the file
	lines []string
	watch bool
}

var packageWorkflow = workflow{
	about: "# Sources of a bundle: every item must have a trusted signature and match the lock.\n" +
		"# RYE_STATEMENT is a variable of the settings, which no pull request can change.\n",
	vars:  []string{"RYE_STATEMENT"},
	lines: []string{`rye trust --accept "$RYE_STATEMENT"`, "rye pull", "rye verify", "rye sign --all --check", "rye lock verify", "rye audit --ci"},
}

// watchWorkflow verifies namespaces of a registry.
func watchWorkflow(namespaces []string) (workflow, error) {
	scopes := ""
	for _, ns := range namespaces {
		if strings.ContainsFunc(ns, func(c rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", c) }) || ns == "" || ns[0] == '-' {
			return workflow{}, fault.New(fault.Usage, "namespace %q: want lower-case letters, digits, _ and -", ns)
		}
		scopes += " --scope " + ns
	}
	return workflow{
		about: "# Watches a registry: verifies its logs and everything that they name, from the first operation on. Keep this in a\n" +
			"# repository beside the registry. REGISTRY_URL and REGISTRY_ID are variables of the settings.\n",
		vars: []string{"REGISTRY_URL", "REGISTRY_ID"},
		lines: []string{"rye init watch", `rye -C watch registry add "$REGISTRY_URL" --identity "$REGISTRY_ID"` + scopes + " --yes",
			"rye -C watch registry verify"},
		watch: true,
	}, nil
}

// text returns the workflow in the form of a forge.
func (w workflow) text(forge string) string {
	switch forge {
	case "gitlab":
		return w.gitlab()
	case "git":
		return w.about + "set -eu\n" + strings.Join(w.lines, "\n") + "\n"
	}
	return w.actions()
}

// image is the container image with rye for a build machine.
const image = "registry.example.org/tools/rye:1"

func (w workflow) actions() string {
	var b strings.Builder
	on := "  push:\n  pull_request:\n"
	if w.watch {
		on = "  schedule:\n    - cron: \"17 * * * *\"\n  workflow_dispatch:\n"
	}
	fmt.Fprintf(&b, "%sname: rye\non:\n%spermissions:\n  contents: read\njobs:\n  verify:\n    runs-on: ubuntu-latest\n"+
		"    container: %s   # an image of yours with rye in it\n    env:\n", w.about, on, image)
	for _, v := range w.vars {
		fmt.Fprintf(&b, "      %s: ${{ vars.%s }}\n", v, v)
	}
	b.WriteString("    steps:\n")
	if !w.watch {
		b.WriteString("      - uses: actions/checkout@v4\n")
	}
	for _, line := range w.lines {
		fmt.Fprintf(&b, "      - run: %s\n", line)
	}
	return b.String()
}

func (w workflow) gitlab() string {
	var b strings.Builder
	rules := "    - if: $CI_PIPELINE_SOURCE == \"merge_request_event\"\n    - if: $CI_COMMIT_BRANCH\n"
	if w.watch {
		rules = "    - if: $CI_PIPELINE_SOURCE == \"schedule\"\n    - if: $CI_PIPELINE_SOURCE == \"web\"\n"
	}
	fmt.Fprintf(&b, "%srye:\n  image: %s   # an image of yours with rye in it\n  rules:\n%s  script:\n", w.about, image, rules)
	for _, line := range w.lines {
		fmt.Fprintf(&b, "    - %s\n", line)
	}
	return b.String()
}
