package primitive

// reenter returns the path from Reenter, or "".
func reenter() string {
	if p := self.Load(); p != nil {
		return *p
	}
	return ""
}

func innerWork(verb string, args []string) int {
	switch verb {
	case guardVerb:
		return standGuard()
	case actsVerb:
		return commitActs(args)
	}
	return 2
}
