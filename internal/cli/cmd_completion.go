package cli

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rye-os/rye"
	"github.com/rye-os/rye/fault"
	"github.com/rye-os/rye/internal/app"
	"github.com/rye-os/rye/internal/clients"
	"github.com/rye-os/rye/internal/words"
)

// The scripts pass the words so far to "rye __complete" and show its output, so they
// need no change when commands or items change.
const bashCompletion = `# bash completion for rye; try it: source <(rye completion bash)
_rye() {
    # bash splits a word at : and =, so this joins the words that no blank separates.
    local IFS=$'\n' words=() line=$COMP_LINE apart=1 w i
    for ((i = 0; i <= COMP_CWORD; i++)); do
        w=${COMP_WORDS[i]}
        if ((apart)); then words+=("$w"); else words[${#words[@]}-1]+=$w; fi
        line=${line#*"$w"}
        [[ $line == [[:blank:]]* || -z $COMP_LINE ]] && apart=1 || apart=0
    done
    w=${words[${#words[@]}-1]}
    COMPREPLY=($(rye __complete -- "${words[@]:1}" 2>/dev/null))
    if [[ $w == *[:=]* ]]; then # readline replaces only what follows the last of them
        w=${w%"${w##*[:=]}"}
        COMPREPLY=("${COMPREPLY[@]#"$w"}")
    fi
}
complete -o default -F _rye rye
`

const zshCompletion = `#compdef rye
# zsh completion for rye; try it: source <(rye completion zsh)
_rye() {
    local -a candidates
    candidates=("${(@f)$(rye __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if [[ -n "$candidates[1]" ]]; then
        compadd -- "${candidates[@]}"
    else
        _files
    fi
}
compdef _rye rye
`

const fishCompletion = `# fish completion for rye; try it: rye completion fish | source
function __rye_complete
    set -l words (commandline -opc) (commandline -ct)
    rye __complete -- $words[2..-1] 2>/dev/null
end
complete -c rye -a '(__rye_complete)'
`

const powershellCompletion = `# PowerShell completion for rye; try it: rye completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName rye -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '' }
    rye __complete -- @words 2>$null | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
    }
}
`

var shells = [...]struct{ name, script string }{
	{"bash", bashCompletion}, {"zsh", zshCompletion}, {"fish", fishCompletion}, {"powershell", powershellCompletion},
}

func completionCommand() *spec {
	return &spec{
		name: "completion", args: "bash | zsh | fish | powershell", group: "Serve and maintain",
		short:    "Print a completion script for a shell",
		examples: "source <(rye completion bash)\nrye completion fish | source",
		exits:    []fault.Code{fault.Usage},
		min:      1, max: 1,
		alone: true,
		run: func(t *task) error {
			for _, s := range shells {
				if s.name == t.args[0] {
					return t.out.show(map[string]string{"shell": s.name, "script": s.script}, func() { t.out.content(s.script) })
				}
			}
			return fault.New(fault.Usage, "completion for %q: want bash, zsh, fish or powershell", words.Brief(t.args[0]))
		},
	}
}

func completeCommand() *spec {
	return &spec{
		name: "__complete", args: "-- <word…>", hidden: true, max: many,
		short: "Print the completions of the last word",
		alone: true,
		run: func(t *task) error {
			for _, c := range t.candidates(t.args) {
				t.out.printf("%s\n", c)
			}
			return nil
		},
	}
}

// candidates returns the possible completions of the last word.
func (t *task) candidates(words []string) []string {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	global := globalFlags(t.flags)
	tree := commands()
	before, err := split(tree, global, words[:len(words)-1])
	if err != nil {
		return fitting(t.flagWords(tree, words[:len(words)-1]), "", last)
	}
	var inv invocation
	if _, err := inv.descend(tree, before); err != nil {
		return nil
	}
	level := tree
	if len(inv.path) > 0 {
		level = inv.path[len(inv.path)-1].subs
	}
	var all []string
	switch flag, _, valued := strings.Cut(last, "="); {
	case strings.HasPrefix(last, "--") && valued:
		return fitting(flagValues(t, inv, before, strings.TrimLeft(flag, "-")), flag+"=", last)
	case strings.HasPrefix(last, "-"):
		for _, f := range append(append([]cli.Flag(nil), inv.flags()...), global...) {
			all = append(all, "--"+f.Names()[0])
		}
	default:
		for _, s := range level {
			if !s.hidden {
				all = append(all, s.name)
			}
		}
		all = append(all, t.argumentWords(inv)...)
		if len(inv.path) == 1 && inv.path[0].name == "run" {
			all = append(all, t.programWords(last)...)
		}
	}
	return fitting(all, "", last)
}

// fitting returns the words, with a prefix, that complete the last word.
func fitting(all []string, prefix, last string) (fit []string) {
	for _, c := range all {
		if strings.HasPrefix(prefix+c, last) {
			fit = append(fit, prefix+c)
		}
	}
	return fit
}

// argumentWords returns the possible arguments: refs, or the words of closed lists.
func (t *task) argumentWords(inv invocation) []string {
	if len(inv.path) == 0 {
		return nil
	}
	s := inv.path[len(inv.path)-1]
	switch {
	case s.name == "completion":
		return []string{"bash", "zsh", "fish", "powershell"}
	case strings.Contains(s.args, "client"):
		return clients.Names()
	case s.name == "help":
		all := append(append(strings.Split(names(commands()), ", "), topicNames()...), "commands", "pages", "exit-codes")
		pages, _ := t.pageItems() // completion cannot show an error
		for _, it := range pages {
			all = append(all, pageName(it))
		}
		return all
	case s.name == "new", s.name == "list" && len(inv.path) == 1:
		return kindsOf(inv)
	case inv.path[0].name == "thread" && strings.HasPrefix(s.args, "<id>"):
		return t.threadWords()
	case !strings.Contains(s.args, "ref"):
		return nil
	}
	if t.open() != nil {
		return nil // completion cannot show an error
	}
	items, err := t.w.List(t.ctx, t.env.Caller, rye.ListRequest{})
	if err != nil {
		return nil
	}
	return refWords(items)
}

// refWords returns every name of items that the user may type: the refs, the user's own first,
// then ids and last names that only one item has.
func refWords(items []rye.ItemInfo) (all []string) {
	count := map[string]int{}
	var short []string
	for _, it := range items {
		all = append(all, it.Ref)
		_, id, _ := strings.Cut(it.Ref, ":")
		for _, name := range []string{id, id[strings.LastIndex(id, "/")+1:]} {
			if count[name]++; count[name] == 1 {
				short = append(short, name)
			}
		}
	}
	for _, name := range short {
		if count[name] == 1 {
			all = append(all, name)
		}
	}
	return all
}

// threadWords returns the ids of the newest threads. Only the engine knows them, so it answers
// instead of the front.
func (t *task) threadWords() (ids []string) {
	if t.parts.Threads == nil {
		t.exit, _ = app.HandoffCommand(t.screen, t.argv)
		return nil
	}
	if t.open() != nil {
		return nil
	}
	threads, err := t.parts.Threads(t.env)
	if err != nil {
		return nil
	}
	all, err := threads.List(t.ctx, t.env.Caller, rye.ThreadListRequest{Limit: 20})
	if err != nil {
		return nil
	}
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}
