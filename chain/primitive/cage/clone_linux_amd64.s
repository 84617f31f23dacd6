#include "textflag.h"

// SYS_clone, SYS_write and SYS_exit_group
#define CLONE 56
#define WRITE 1
#define EXIT 231

// func cloneAndCall(flags uintptr, first *call, f *failure) (pid int)
//
// The kernel keeps all registers but AX, CX and R11. There is no frame: nothing
// is read from the stack once there are two processes that have it.
TEXT ·cloneAndCall(SB), NOSPLIT, $0-32
	MOVQ	flags+0(FP), DI
	MOVQ	first+8(FP), R12
	MOVQ	f+16(FP), R13
	XORL	SI, SI
	XORL	DX, DX
	XORL	R10, R10
	XORL	R8, R8
	MOVL	$CLONE, AX
	SYSCALL
	TESTQ	AX, AX
	JEQ	next
	MOVQ	AX, pid+24(FP)
	RET

next:
	MOVQ	0(R12), AX
	MOVQ	8(R12), DI
	MOVQ	16(R12), SI
	MOVQ	24(R12), DX
	MOVQ	32(R12), R10
	MOVQ	40(R12), R8
	MOVQ	48(R12), R9
	SYSCALL
	CMPQ	AX, 56(R12)
	JLT	failed
	ADDQ	$64, R12
	JMP	next

failed:
	MOVQ	R12, 8(R13)
	MOVQ	AX, 16(R13)
	MOVQ	0(R13), DI
	LEAQ	8(R13), SI
	MOVL	$16, DX
	MOVL	$WRITE, AX
	SYSCALL
	MOVL	$1, DI
	MOVL	$EXIT, AX
	SYSCALL
	INT	$3
