# A parallel region by somebody who does not want it to be understood.
	.intel_syntax noprefix
	.text
	.globl main
	.type main, @function
main:
	.cfi_startproc
	sub rsp, 24
	lea rdi, body[rip]
	mov rsi, rsp
	xor edx, edx
	xor ecx, ecx
	call GOMP_parallel@PLT
	add rsp, 24
	xor eax, eax
	ret
	.cfi_endproc
	.size main, .-main

	.type body, @function
body:
	.cfi_startproc
	# Into the middle of an instruction, always.
	xor eax, eax
	jz 1f + 1
1:	mov eax, 0x90909090
	# Where a call returns to is computed.
	call 2f
2:	pop rax
	lea rax, [rax + rdi - 1]
	jmp rax
	# A loop with three entries.
	cmp ecx, 5
	je 4f
	jg 5f
3:	inc ecx
4:	add ecx, 2
5:	add ecx, [rdi]
	cmp ecx, 100
	jl 3b
	# It calls itself.
	call body
	# The stack moves by what memory says, in a loop.
6:	sub rsp, [rdi + 8]
	dec ecx
	jnz 6b
	xchg rsp, rbp
	.byte 0x06, 0x0e, 0xff, 0xff
	jmp body
	.cfi_endproc
	.size body, .-body
	.section .note.GNU-stack, "", @progbits
