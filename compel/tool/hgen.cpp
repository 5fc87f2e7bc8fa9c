// SPDX-License-Identifier: LGPL-2.1-only
#include "compel/tool/hgen.hpp"

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>
#include <vector>

#include "compel/src/fail.hpp"
#include "compel/tool/blob_image.hpp"
#include "compel/tool/parasite_image.hpp"

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

void writeBlob(const HgenOptions& options, const BlobImage& image, const std::string& origin) {
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

/// Returns a C header with the names that programs for CRIU 4.2's libcompel expect: PREFIX_sym..., PREFIX_blob and
/// PREFIX_setup_c_header().
std::string parasiteHeader(const ParasiteImage& image, const std::string& prefix, const std::string& origin) {
    constexpr std::size_t perLine = 16;
    const auto tableOffset = (image.bytes.size() + 7) / 8 * 8;
    std::ostringstream out;
    out << "/* Made from " << origin << " by compel hgen. */\n#include <compel/infect.h>\n\n";
    for (const auto& symbol : image.symbols)
        out << "#define " << prefix << "_sym" << symbol.name << " " << Hex{symbol.offset} << "\n";
    out << "\nstatic __maybe_unused compel_reloc_t " << prefix << "_relocs[] = {\n";
    for (const auto& address : image.addresses)
        out << "    {.offset = " << Hex{address.offset}
            << ", .type = COMPEL_TYPE_LONG, .addend = 0, .value = " << Hex{address.target} << "},\n";
    if (image.addresses.empty())
        out << "    {.offset = 0, .type = 0, .addend = 0, .value = 0}, /* none */\n";
    out << "};\n\nstatic __maybe_unused const char " << prefix << "_blob[] = {";
    for (std::size_t at = 0; at < image.bytes.size(); ++at)
        out << (at % perLine == 0 ? "\n    " : " ") << static_cast<int>(static_cast<signed char>(image.bytes[at]))
            << ",";
    out << "\n};\n\nstatic void __maybe_unused " << prefix
        << "_setup_c_header_desc(struct parasite_blob_desc *pbd, bool native)\n{\n    (void)native;\n"
        << "    pbd->parasite_type = COMPEL_BLOB_CHEADER;\n    pbd->hdr.mem = " << prefix
        << "_blob;\n    pbd->hdr.bsize = sizeof(" << prefix << "_blob);\n";
    const std::pair<const char*, std::string> offsets[] = {
        {"parasite_ip_off", prefix + "_sym__export_parasite_head_start"},
        {"cmd_off", prefix + "_sym__export_parasite_service_cmd"},
        {"args_ptr_off", prefix + "_sym__export_parasite_service_args_ptr"},
        {"got_off", join(Hex{tableOffset})},
        {"args_off", join(Hex{tableOffset})},
        {"data_off", join(Hex{image.dataOffset})},
        {"relocs", prefix + "_relocs"},
        {"nr_relocs", std::to_string(image.addresses.size())}};
    for (const auto& [field, value] : offsets)
        out << "    pbd->hdr." << field << " = " << value << ";\n";
    out << "}\n\nstatic void __maybe_unused " << prefix << "_setup_c_header(struct parasite_ctl *ctl)\n{\n    "
        << prefix << "_setup_c_header_desc(compel_parasite_blob_desc(ctl), compel_mode_native(ctl));\n}\n";
    return out.str();
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
    const auto file = readFile(options.input);
    const auto origin = std::filesystem::path(options.input).filename().string();
    try {
        if (isBlob(file))
            writeBlob(options, parseBlob(file), origin);
        else if (!options.source.empty())
            fail("the bytes of a blob in C always stand in its header");
        else
            writeFile(options.output, parasiteHeader(parseParasite(file), options.prefix, origin));
    } catch (const Error& error) {
        fail(options.input, ": ", error.what());
    }
}

}  // namespace compel
