package primitive

func innerWork(verb string, args []string) int {
	switch verb {
	case guardVerb:
		return standGuard()
	}
	return 2
}
