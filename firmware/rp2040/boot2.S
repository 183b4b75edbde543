/* The boot stage. The chip's ROM copies the first 256 bytes of the flash to the RAM, checks their
 * checksum and jumps here. This maps the flash into memory by the command every flash chip has
 * (03h: read), copies the program to the RAM and starts it. */
    .syntax unified
    .cpu cortex-m0plus
    .thumb
    .section .boot2, "ax"

    .equ SSI, 0x18000000
    .equ SSI_CTRLR0, 0x00
    .equ SSI_CTRLR1, 0x04
    .equ SSI_SSIENR, 0x08
    .equ SSI_BAUDR, 0x14
    .equ SSI_SPI_CTRLR0, 0xf4
    .equ FRAMES_OF_32_BITS, 31 << 16
    .equ COMMAND_THEN_READ, 3 << 8
    .equ READ_COMMAND, 0x03 << 24
    .equ COMMAND_OF_8_BITS, 2 << 8
    .equ ADDRESS_OF_24_BITS, 6 << 2
    .equ VTOR, 0xe000ed08

    .global boot2
    .thumb_func
boot2:
    ldr r3, =SSI
    movs r0, #0
    str r0, [r3, #SSI_SSIENR] /* it is configured while it is off */
    movs r1, #2               /* half the system clock, which is still the ring oscillator's */
    str r1, [r3, #SSI_BAUDR]
    ldr r1, =(FRAMES_OF_32_BITS | COMMAND_THEN_READ)
    str r1, [r3, #SSI_CTRLR0]
    str r0, [r3, #SSI_CTRLR1] /* one frame at a time */
    ldr r1, =(READ_COMMAND | COMMAND_OF_8_BITS | ADDRESS_OF_24_BITS)
    ldr r2, =(SSI + SSI_SPI_CTRLR0)
    str r1, [r2]
    movs r1, #1
    str r1, [r3, #SSI_SSIENR]

    ldr r0, =flash_image
    ldr r1, =image_start
    ldr r2, =image_end
copy:
    ldmia r0!, {r4-r7}
    stmia r1!, {r4-r7}
    cmp r1, r2
    blo copy

    ldr r0, =image_start /* begins with the vectors: stack, then entry */
    ldr r1, =VTOR
    str r0, [r1]
    ldmia r0!, {r1, r2}
    msr msp, r1
    bx r2
    .ltorg
