// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/tool/hgen.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include "compel/src/fail.hpp"
#include "compel/tool/blob_image.hpp"

namespace compel {

namespace {

std::vector<std::byte> readFile(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file)
        failErrno("open ", path);
    std::vector<std::byte> content;
    for (std::istreambuf_iterator<char> at(file), end; at != end; ++at)
        content.push_back(static_cast<std::byte>(*at));
    return content;
}

void writeFile(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file)
        failErrno("write ", path);
}

void writeBytes(std::ostream& out, const BlobImage& image, const char* linkage) {
    constexpr std::size_t perLine = 20;
    out << "using B = std::byte;\n" << linkage << " B bytes[] = {";
    for (std::size_t at = 0; at < image.bytes.size(); ++at)
        out << (at % perLine == 0 ? "\n" : "") << "B{" << std::to_integer<unsigned>(image.bytes[at]) << "},";
    out << "\n};\n";
}

void writeSymbols(std::ostream& out, const BlobImage& image) {
    out << "/// Offsets in the blob.\nnamespace symbols {\n";
    for (const auto& symbol : image.symbols)
        out << "inline constexpr std::uint64_t " << symbol.name << " = " << Hex{symbol.offset} << ";\n";
    out << "}\n";
}

std::string initializer(const BlobImage& image) {
    return join("{bytes, ", Hex{image.entryOffset}, ", ", Hex{image.endOffset}, "}");
}

}  // namespace

std::string guessPrefix(const std::string& path) {
    std::string name;
    for (const char c : std::filesystem::path(path).stem().string())
        name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ||
        name.find_first_not_of('_') == std::string::npos)
        return "";
    return name;
}

void generateHeader(const HgenOptions& options) {
    BlobImage image;
    try {
        image = parseBlob(readFile(options.input));
    } catch (const Error& error) {
        fail(options.input, ": ", error.what());
    }
    const auto origin = std::filesystem::path(options.input).filename().string();
    std::ostringstream header;
    header << "// Made from " << origin << " by compel hgen.\n#pragma once\n\n#include <compel/blob.hpp>\n\nnamespace "
           << options.prefix << " {\n";
    if (options.source.empty()) {
        header << "namespace detail {\n";
        writeBytes(header, image, "inline constexpr");
        header << "inline constexpr compel::Blob blob" << initializer(image) << ";\n}\nusing detail::blob;\n";
    } else {
        header << "extern const compel::Blob blob;\n";
        std::ostringstream source;
        source << "// Made from " << origin << " by compel hgen.\n#include <compel/blob.hpp>\n\nnamespace "
               << options.prefix << " {\nnamespace {\n";
        writeBytes(source, image, "constexpr");
        source << "}\nextern const compel::Blob blob;\nconstinit const compel::Blob blob" << initializer(image)
               << ";\n}\n";
        writeFile(options.source, source.str());
    }
    writeSymbols(header, image);
    header << "}\n";
    writeFile(options.output, header.str());
}

}  // namespace compel
