// Functions of the C++ library in which threads hinder each other.
#include <cstdio>
#include <cstring>
#include <sstream>
#include <string>

static long texts(long n) {
  long letters = 0;
#pragma omp parallel for reduction(+ : letters)
  for (long i = 0; i < n; i++) {
    std::ostringstream text;
    text << i;
    letters += text.str().size();
  }
  return letters;
}

static long failures(long n) {
  long failed = 0;
#pragma omp parallel for reduction(+ : failed)
  for (long i = 0; i < n; i++) {
    try {
      if (i % 2 == 0)
        throw i;
    } catch (long) {
      failed++;
    }
  }
  return failed;
}

int main(int argc, char **argv) {
  bool throws = argc > 1 && !std::strcmp(argv[1], "exceptions");
  std::printf("%ld\n", throws ? failures(2000000) : texts(3000000));
}
