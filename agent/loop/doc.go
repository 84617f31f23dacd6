// Package loop runs the loop of a thread, a Starlark program, and replays its recorded
// answers.
//
// A loop decides how a thread works: the prompt for the model, the handling of its answer,
// the end. It has two functions and sees nothing of the world but a host:
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
// The host is Go and keeps the law: limits, capabilities, money, approval. A stop by the
// law ends the program at once, and Starlark has nothing to catch it with. A mere failure
// comes back as a value. Every answer of the host is recorded before the program sees it,
// so that an interrupted turn runs again to the same point: see Program.Turn.
//
// docs/format/loop.md is normative: the language, the host's functions, the bounds.
//
// # Reasons
//
// Operations whose result may be large are rewritten in the parsed program into calls that
// charge first. Starlark bounds steps, and doubling a list thirty times takes 271 of them
// for two gigabytes. A limit on the process kills everything in it, and a watch sees a
// single step too late. So the same program with the same input stops at the same place on
// every machine. Operations that need time and no memory cannot be stopped that way; the
// turn is given up after them, and the process ends.
//
// A loop gets handles in place of messages: a program that holds the texts of a
// conversation is one mistake away from rewriting it.
package loop
