package primitive

func innerWork(verb string, args []string) int {
	switch verb {
	case guardVerb:
		return standGuard()
	case confineVerb:
		return becomeTool()
	case actsVerb:
		return commitActs(args)
	}
	return 2
}
