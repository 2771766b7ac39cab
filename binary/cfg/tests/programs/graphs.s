# Functions whose graphs are known.
	.intel_syntax noprefix
	.text

# for i: for j, the inner one left early
	.globl nested
	.type nested, @function
nested:
	.cfi_startproc
	xor eax, eax
1:	xor ecx, ecx
2:	add eax, ecx
	js 3f
	inc ecx
	cmp ecx, 10
	jl 2b
	inc edx
	cmp edx, 10
	jl 1b
3:	ret
	.cfi_endproc
	.size nested, .-nested

# The first test is made before the loop as well, so that it has two entries; every round passes
# the second.
	.globl rotated
	.type rotated, @function
rotated:
	.cfi_startproc
	test edi, edi
	jle 2f
1:	mov ecx, edi
3:	dec ecx
	jne 3b
2:	inc eax
	cmp eax, 10
	je 9f
	test edi, edi
	jg 1b
	jmp 2b
9:	ret
	.cfi_endproc
	.size rotated, .-rotated

# Part of it lies elsewhere, and jumps back.
	.globl divided
	.type divided, @function
divided:
	.cfi_startproc
	sub rsp, 24
	.cfi_def_cfa_offset 32
	test edi, edi
	js divided.cold
.Lback:	add rsp, 24
	.cfi_def_cfa_offset 8
	jmp nested
	.cfi_endproc
	.size divided, .-divided

# The table's address is set before a loop, its bound is tested inside.
	.globl hoisted
	.type hoisted, @function
hoisted:
	.cfi_startproc
	lea rdx, table[rip]
1:	movzx eax, byte ptr [rdi]
	inc rdi
	cmp al, 3
	ja 9f
	movsxd rax, dword ptr [rdx + rax * 4]
	add rax, rdx
	notrack jmp rax
2:	inc esi
	jmp 1b
3:	dec esi
	jmp 1b
4:	add esi, esi
	jmp 1b
9:	ret
	.cfi_endproc
	.size hoisted, .-hoisted

# Nobody says how many entries there are.
	.globl boundless
	.type boundless, @function
boundless:
	.cfi_startproc
	lea rdx, table[rip]
	movsxd rax, dword ptr [rdx + rdi * 4]
	add rax, rdx
	jmp rax
	.cfi_endproc
	.size boundless, .-boundless

# A function that a pointer names is called in this one's place.
	.globl pointer
	.type pointer, @function
pointer:
	.cfi_startproc
	push rbx
	mov rbx, rdi
	mov rax, [rbx + 8]
	pop rbx
	jmp rax
	.cfi_endproc
	.size pointer, .-pointer

# Nobody says where this goes on, as the stack is in use.
	.globl inside
	.type inside, @function
inside:
	.cfi_startproc
	push rbx
	mov rax, [rdi]
	jmp rax
	pop rbx
	ret
	.cfi_endproc
	.size inside, .-inside

# The second instruction hides another one.
	.globl hidden
	.type hidden, @function
hidden:
	.cfi_startproc
	jmp 1f + 1
1:	mov eax, 0xc3c3c3c3
	ret
	.cfi_endproc
	.size hidden, .-hidden

	.globl garbage
	.type garbage, @function
garbage:
	.cfi_startproc
	test edi, edi
	je 1f
	.byte 0x06, 0x07, 0x0e
1:	ret
	.cfi_endproc
	.size garbage, .-garbage

	.section .text.unlikely, "ax"
	.type divided.cold, @function
divided.cold:
	.cfi_startproc
	.cfi_def_cfa_offset 32
	inc edi
	jmp .Lback
	.cfi_endproc
	.size divided.cold, .-divided.cold

	.section .rodata
	.align 4
table:
	.long 2b - table
	.long 3b - table
	.long 4b - table
	.long 2b - table
	.section .note.GNU-stack, "", @progbits
