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
// Operations with possibly large results are rewritten in the parsed program into calls that charge
// for memory first. Starlark limits only steps, and 271 steps suffice to double a list thirty
// times, to two gigabytes. A limit on the process would kill everything in it, and a watcher would
// notice a single step too late. With charging, the same program with the same input stops at the
// same place on every machine. An operation that needs time but no memory cannot be stopped this
// way; the turn is given up after it, and the process ends.
//
// A loop gets handles instead of messages, because a mistake in a program that holds the texts of a
// conversation could rewrite them.
package loop
