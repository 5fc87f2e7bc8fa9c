// SPDX-License-Identifier: LGPL-2.1-only
#include <getopt.h>

#include <exception>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "compel/tool/hgen.hpp"
#include "compel/tool/paths.hpp"

namespace {

constexpr int exitUsage = 1;
constexpr int exitNoPrefix = 2;
constexpr int exitHgenFailed = 255;

constexpr const char* usage =
    "Usage:\n"
    "  compel includes [-c | --compat]\n"
    "  compel cflags   [-c | --compat]\n"
    "  compel ldflags  [-c | --compat]\n"
    "  compel plugins  [NAME ...]\n"
    "  compel libs     [-s | --static] [-c | --compat]\n"
    "  compel hgen     -f FILE -o FILE [-s FILE] [-p NAME] [-l NUM]\n"
    "\n"
    "The first five print what compiles and links a blob, code that runs inside of another process.\n"
    "hgen makes a C++ header of a linked blob:\n"
    "  -f, --file FILE       the linked blob\n"
    "  -o, --output FILE     the header\n"
    "  -s, --source FILE     put the blob's bytes here, not into the header\n"
    "  -p, --prefix NAME     its namespace; made of the names of the files if not given\n"
    "  -l, --log-level NUM   4 reports what is done\n"
    "Others:\n"
    "  -c, --compat          for 32-bit code, which isn't supported\n"
    "  -s, --static          the static library, which is the only one\n"
    "  -h, --help            this text\n"
    "  -V, --version         the version\n";

struct Options {
    compel::HgenOptions hgen;
    bool compat = false;
    bool useStatic = false;
    int logLevel = 2;
    std::vector<std::string> names;
};

struct UsageError {
    std::string text;
};

Options parse(int argc, char** argv, std::string_view action) {
    const bool isHgen = action == "hgen";
    const std::vector<option> known = {
        {"file", required_argument, nullptr, 'f'},   {"output", required_argument, nullptr, 'o'},
        {"prefix", required_argument, nullptr, 'p'}, {"log-level", required_argument, nullptr, 'l'},
        {"source", required_argument, nullptr, 's'}, {"compat", no_argument, nullptr, 'c'},
        {"static", no_argument, nullptr, 's'},       {nullptr, 0, nullptr, 0}};
    Options options;
    for (int found = 0;
         (found = getopt_long(argc, argv, isHgen ? "f:o:p:l:s:c" : "sc", known.data(), nullptr)) != -1;) {
        if (found == '?' || (!isHgen && found != 'c' && found != 's'))
            throw UsageError{"unknown option"};
        const std::string value = optarg != nullptr ? optarg : "";
        switch (found) {
            case 'f':
                options.hgen.input = value;
                break;
            case 'o':
                options.hgen.output = value;
                break;
            case 'p':
                options.hgen.prefix = value;
                break;
            case 'l':
                options.logLevel = std::atoi(value.c_str());
                break;
            case 's':
                if (isHgen)
                    options.hgen.source = value;
                else
                    options.useStatic = true;
                break;
            default:
                options.compat = true;
        }
    }
    options.names.assign(argv + optind, argv + argc);
    return options;
}

int runHgen(Options& options) {
    if (options.hgen.input.empty() || options.hgen.output.empty())
        throw UsageError{"hgen needs -f and -o"};
    for (const auto* path : {&options.hgen.output, &options.hgen.input})
        if (options.hgen.prefix.empty())
            options.hgen.prefix = compel::guessPrefix(*path);
    if (options.hgen.prefix.empty()) {
        std::cerr << "compel: no namespace can be made of the names of the files: give one with --prefix\n";
        return exitNoPrefix;
    }
    try {
        compel::generateHeader(options.hgen);
    } catch (const std::exception& error) {
        std::cerr << "compel: hgen: " << error.what() << "\n";
        return exitHgenFailed;
    }
    if (options.logLevel >= 4)
        std::cerr << "compel: made " << options.hgen.output << " of " << options.hgen.input << "\n";
    return 0;
}

void printIncludes(const compel::Paths& paths) {
    if (paths.includes != "/usr/include" && paths.includes != "/usr/local/include")
        std::cout << "-I" << paths.includes << "\n";
}

int run(std::string_view action, Options& options) {
    if (action == "hgen")
        return runHgen(options);
    const auto paths = compel::Paths::find();
    if (options.compat)
        throw UsageError{"32-bit code isn't supported"};
    if (action == "includes") {
        printIncludes(paths);
    } else if (action == "cflags") {
        std::cout << COMPEL_BLOB_CFLAGS << "\n";
        printIncludes(paths);
    } else if (action == "ldflags") {
        std::cout << COMPEL_BLOB_LDFLAGS << " -Wl,-T," << paths.scripts << "/blob.lds\n";
    } else if (action == "plugins") {
        std::cout << paths.plugins << "/std.lib.a\n";
        // Passing descriptors needs no library of its own: it is all in <compel/blob/socket.hpp>.
        for (const auto& name : options.names)
            if (name != "std" && name != "fds")
                throw UsageError{"there is no plugin '" + name + "'"};
    } else if (action == "libs") {
        if (!paths.installed && !options.useStatic)
            throw UsageError{"in a source tree there is only the static library: libs --static"};
        std::cout << paths.libraries << "/libcompel.a\n";  // there is no shared one
    } else {
        throw UsageError{"unknown action '" + std::string(action) + "'"};
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc < 2)
            throw UsageError{"no action given"};
        const std::string_view action = argv[1];
        if (action == "-h" || action == "--help") {
            std::cout << usage;
            return 0;
        }
        if (action == "-V" || action == "--version") {
            std::cout << "Version: " << COMPEL_VERSION << "\n";
            return 0;
        }
        auto options = parse(argc - 1, argv + 1, action);
        return run(action, options);
    } catch (const UsageError& error) {
        std::cerr << "compel: " << error.text << "\n" << usage;
        return exitUsage;
    } catch (const std::exception& error) {
        std::cerr << "compel: " << error.what() << "\n";
        return exitUsage;
    }
}
