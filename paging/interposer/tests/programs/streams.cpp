// Reads and writes by streams of C++.
#include <fstream>
#include <iostream>
#include <string>

int main()
{
    std::ifstream lines("lines");
    std::ofstream copy("copy");
    std::string line;
    long count = 0;
    while (std::getline(lines, line)) {
        copy << line << '\n';
        count++;
    }
    copy.close();
    std::cout << count << std::endl;
    return 0;
}
