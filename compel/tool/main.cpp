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
    "  compel [--cxx] includes | cflags | ldflags\n"
    "  compel [--cxx] plugins [NAME ...]\n"
    "  compel [--static] libs\n"
    "  compel -f FILE -o FILE [-p NAME] [-l NUM] [--source FILE] hgen\n"
    "\n"
    "The first four lines of actions print what compiles and links a blob, code that runs inside of another\n"
    "process, and the program that puts it there. hgen makes a header of a linked blob.\n"
    "  -f, --file FILE       the linked blob\n"
    "  -o, --output FILE     the header\n"
    "  -p, --prefix NAME     what its names begin with; made of the names of the files if not given\n"
    "  -l, --log-level NUM   4 reports each step\n"
    "      --source FILE     put the bytes of a blob in C++ here, not into the header\n"
    "  -x, --cxx             for blobs in C++ of compel/blob.hpp; otherwise those in C of compel/infect.h\n"
    "  -s, --static          the static library\n"
    "  -c, --compat          for 32-bit code, which isn't supported\n"
    "  -h, --help            this text\n"
    "  -V, --version         the version\n";

struct Options {
    compel::HgenOptions hgen;
    std::string action;
    std::vector<std::string> names;
    bool compat = false;
    bool useStatic = false;
    bool cxx = false;
    bool help = false;
    bool version = false;
    int logLevel = 2;
};

struct UsageError {
    std::string text;
};

Options parse(int argc, char** argv) {
    constexpr int sourceOption = 256;
    const std::vector<option> known = {{"file", required_argument, nullptr, 'f'},
                                       {"output", required_argument, nullptr, 'o'},
                                       {"prefix", required_argument, nullptr, 'p'},
                                       {"log-level", required_argument, nullptr, 'l'},
                                       {"compat", no_argument, nullptr, 'c'},
                                       {"source", required_argument, nullptr, sourceOption},
                                       {"static", no_argument, nullptr, 's'},
                                       {"cxx", no_argument, nullptr, 'x'},
                                       {"help", no_argument, nullptr, 'h'},
                                       {"version", no_argument, nullptr, 'V'},
                                       {nullptr, 0, nullptr, 0}};
    Options options;
    for (int found = 0; (found = getopt_long(argc, argv, "f:o:p:l:csxhV", known.data(), nullptr)) != -1;) {
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
            case sourceOption:
                options.hgen.source = value;
                break;
            case 'c':
                options.compat = true;
                break;
            case 's':
                options.useStatic = true;
                break;
            case 'x':
                options.cxx = true;
                break;
            case 'h':
                options.help = true;
                break;
            case 'V':
                options.version = true;
                break;
            default:
                throw UsageError{"unknown option"};
        }
    }
    if (optind < argc) {
        options.action = argv[optind];
        options.names.assign(argv + optind + 1, argv + argc);
    }
    return options;
}

int runHgen(Options& options) {
    if (options.hgen.input.empty())
        throw UsageError{"option --file required"};
    if (options.hgen.output.empty())
        throw UsageError{"option --output required"};
    for (const auto* path : {&options.hgen.output, &options.hgen.input})
        if (options.hgen.prefix.empty())
            options.hgen.prefix = compel::guessPrefix(*path);
    if (options.hgen.prefix.empty()) {
        std::cerr << "Error: no prefix can be made of the names of the files: give one with --prefix\n";
        return exitNoPrefix;
    }
    try {
        compel::generateHeader(options.hgen);
    } catch (const std::exception& error) {
        std::cerr << "Error: hgen: " << error.what() << "\n";
        return exitHgenFailed;
    }
    if (options.logLevel >= 4)
        std::cout << options.hgen.output << " was made of " << options.hgen.input << "\n";
    return 0;
}

void printIncludes(const compel::Paths& paths, bool cxx) {
    for (const auto& folder : cxx ? paths.cxxIncludes : paths.includes)
        if (folder != "/usr/include" && folder != "/usr/local/include")
            std::cout << "-I " << folder << "\n";
}

void printPlugins(const compel::Paths& paths, const Options& options) {
    std::cout << paths.plugins << (options.cxx ? "/blob.lib.a\n" : "/std.lib.a\n");
    for (const auto& name : options.names) {
        if (name != "std" && name != "fds")
            throw UsageError{"there is no plugin '" + name + "'"};
        // Prints the plugin fds only for blobs in C: blobs in C++ pass descriptors by a header. The plugin std is
        // always printed.
        if (!options.cxx && name == "fds")
            std::cout << paths.plugins << "/fds.lib.a\n";
    }
}

int run(Options& options) {
    const auto& action = options.action;
    if (action.empty())
        throw UsageError{"action argument required"};
    if (action == "hgen")
        return runHgen(options);
    const auto paths = compel::Paths::find();
    if (options.compat)
        throw UsageError{"32-bit code isn't supported"};
    if (action == "includes") {
        printIncludes(paths, options.cxx);
    } else if (action == "cflags") {
        std::cout << (options.cxx ? COMPEL_BLOB_CFLAGS : COMPEL_PARASITE_CFLAGS) << "\n";
        printIncludes(paths, options.cxx);
    } else if (action == "ldflags") {
        if (options.cxx)
            std::cout << COMPEL_BLOB_LDFLAGS << " -Wl,-T," << paths.cxxScripts << "/blob.lds\n";
        else
            std::cout << COMPEL_PARASITE_LDFLAGS << " -T " << paths.scripts << "/compel-pack.lds.S\n";
    } else if (action == "plugins") {
        printPlugins(paths, options);
    } else if (action == "libs") {
        if (!paths.installed && !options.useStatic)
            throw UsageError{"in a source tree there is only the static library (use --static)"};
        std::cout << paths.libraries << (options.useStatic ? "/libcompel.a\n" : "/libcompel.so\n");
    } else {
        throw UsageError{"unknown action '" + action + "'"};
    }
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        auto options = parse(argc, argv);
        if (options.help) {
            std::cout << usage;
            return 0;
        }
        if (options.version) {
            std::cout << "Version: " << COMPEL_VERSION << "\n";
            return 0;
        }
        return run(options);
    } catch (const UsageError& error) {
        std::cerr << "Error: " << error.text << "\n" << usage;
        return exitUsage;
    } catch (const std::exception& error) {
        std::cerr << "Error: " << error.what() << "\n";
        return exitUsage;
    }
}
