/* Maps Arduino pin numbers to ports and bits. The including file defines AT(port, bit). */
#ifndef CUBIST_PIN_PLACES_H
#define CUBIST_PIN_PLACES_H

/* Uno and Nano: 0 to 13, A0 to A5 as 14 to 19. */
/* clang-format off */
#define PIN_PLACES_UNO \
    AT(D, 0), AT(D, 1), AT(D, 2), AT(D, 3), AT(D, 4), AT(D, 5), AT(D, 6), AT(D, 7), AT(B, 0), AT(B, 1), \
    AT(B, 2), AT(B, 3), AT(B, 4), AT(B, 5), AT(C, 0), AT(C, 1), AT(C, 2), AT(C, 3), AT(C, 4), AT(C, 5)

/* Mega: 0 to 53, A0 to A15 as 54 to 69. */
#define PIN_PLACES_MEGA \
    AT(E, 0), AT(E, 1), AT(E, 4), AT(E, 5), AT(G, 5), AT(E, 3), AT(H, 3), AT(H, 4), AT(H, 5), AT(H, 6), \
    AT(B, 4), AT(B, 5), AT(B, 6), AT(B, 7), AT(J, 1), AT(J, 0), AT(H, 1), AT(H, 0), AT(D, 3), AT(D, 2), \
    AT(D, 1), AT(D, 0), AT(A, 0), AT(A, 1), AT(A, 2), AT(A, 3), AT(A, 4), AT(A, 5), AT(A, 6), AT(A, 7), \
    AT(C, 7), AT(C, 6), AT(C, 5), AT(C, 4), AT(C, 3), AT(C, 2), AT(C, 1), AT(C, 0), AT(D, 7), AT(G, 2), \
    AT(G, 1), AT(G, 0), AT(L, 7), AT(L, 6), AT(L, 5), AT(L, 4), AT(L, 3), AT(L, 2), AT(L, 1), AT(L, 0), \
    AT(B, 3), AT(B, 2), AT(B, 1), AT(B, 0), AT(F, 0), AT(F, 1), AT(F, 2), AT(F, 3), AT(F, 4), AT(F, 5), \
    AT(F, 6), AT(F, 7), AT(K, 0), AT(K, 1), AT(K, 2), AT(K, 3), AT(K, 4), AT(K, 5), AT(K, 6), AT(K, 7)
/* clang-format on */

#endif
