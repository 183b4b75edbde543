/* Runs corpus files through the fuzzing target without libFuzzer. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define MAX_INPUT 4096

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int main(int argc, char **argv)
{
    static uint8_t bytes[MAX_INPUT];
    for (int i = 1; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) {
            perror(argv[i]);
            return 2;
        }
        size_t length = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        LLVMFuzzerTestOneInput(bytes, length);
    }
    return 0;
}
