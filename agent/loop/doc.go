// Package loop runs the loop of a thread, a Starlark program, and replays its recorded
// answers.
//
// A loop decides how a thread works: the prompt for the model, the handling of its answer, the end.
// It has two functions, and a host is its only access to the world:
//
//	def init(ctx):
//	    return {"turn": 0}
//
//	def turn(host, state):
//	    answer = host.model(host.prompt()["id"])
//	    if answer["error"]:
//	        return state, next.fail("model_failed", answer["error"]["message"])
//	    if answer["calls"]:
//	        host.calls([c["id"] for c in answer["calls"]])
//	        return {"turn": state["turn"] + 1}, next.again()
//	    return state, next.done(answer["text"])
//
// The host is written in Go and enforces the law: limits, capabilities, money, approval. A stop of
// the law ends the program at once, and Starlark cannot catch it. An ordinary failure comes back as
// a value. Every answer of the host is recorded before the program sees it, so that an interrupted
// turn runs again to the same point: see Program.Turn.
//
// docs/format/loop.md is normative: the language, the host's functions, the bounds.
//
// # Reasons
//
// A loop's memory is bounded by its process: each thread has one, and nothing else runs in it. Starlark
// limits only steps, and 271 steps suffice to double a list thirty times, to two gigabytes. So the
// process looks at its heap every eight steps. Charging for each operation before it is made stopped at
// the same place on every machine, but it rewrote the program, and knew the size of every result of
// Starlark: 800 lines. A look costs 1 microsecond. A goroutine that looks from time to time is too late:
// a collection stops it, and the program doubles again. The kernel's bound is for one step that asks for
// gigabytes; the process dies of it, which is why nothing of a program runs outside of its thread.
//
// A loop gets handles instead of messages, because a mistake in a program that holds the texts of a
// conversation could rewrite them.
package loop
