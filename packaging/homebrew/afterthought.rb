# The formula of a tap. A release replaces the words between @ with its version, address and checksums.
class Afterthought < Formula
  desc "Turns conversation logs into memories with verified quotes, in one SQLite file"
  homepage "@REPOSITORY@"
  version "@VERSION@"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/afterthought-aarch64-apple-darwin.tar.gz"
      sha256 "@SHA256:aarch64-apple-darwin@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/afterthought-x86_64-apple-darwin.tar.gz"
      sha256 "@SHA256:x86_64-apple-darwin@"
    end
  end

  on_linux do
    on_arm do
      url "@REPOSITORY@/releases/download/v@VERSION@/afterthought-aarch64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:aarch64-unknown-linux-musl@"
    end
    on_intel do
      url "@REPOSITORY@/releases/download/v@VERSION@/afterthought-x86_64-unknown-linux-musl.tar.gz"
      sha256 "@SHA256:x86_64-unknown-linux-musl@"
    end
  end

  def install
    bin.install "afterthought"
    generate_completions_from_executable(bin/"afterthought", "config", "completions", shells: [:bash, :zsh, :fish])
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/afterthought --version")
    (testpath/"chat.md").write("User: Remember that the museum closes at five.\nAssistant: I will.\n")
    system bin/"afterthought", "run", "chat.md", "--extractor", "rules", "--db", "test.db"
  end
end
