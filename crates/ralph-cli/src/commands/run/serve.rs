//! `ralph serve`.
use std::io;
use std::net::{IpAddr, SocketAddr};

use clap::Args;
use ralph_app::run::refuse_command_by_agent;
use ralph_core::outcome::{RunEnd, exit_code};
use ralph_engine::project::Project;
use ralph_server::{
    AccessTokenError, BoundServer, CommandWords, ServerError, ServerOptions, create_login_url, read_access_token,
};

use crate::commands::args::config_args::ConfigArgs;
use crate::commands::out;
use crate::commands::run::execute::with_keeper_and_threads;
use crate::commands::tasks::work::{create_worker_screen, prepare_server_worker};
use crate::error::CommandError;
use crate::hints;

/// Serves the dashboard, the API and conversations over HTTP
///
/// Open the printed address in a browser. Runs that are started there are driven by this process; SIGTERM and Ctrl-C stop
/// them politely, and the next `ralph serve` resumes them.
///
/// On this machine everyone can read without a token. Orders need one: `--print-url` prints an address that logs a browser in,
/// and `--print-token` the token for other clients. With another `--host`, every request needs it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ralph serve
  ralph serve --port 8080
  ralph serve --work --slots 2  also works on the ready tasks
  ralph serve --print-url       prints an address that logs a browser in once
  curl -H \"Authorization: Bearer $(ralph serve --print-token)\" -H 'Content-Type: application/json' \\
    -d '{\"prompt\": \"Make the tests pass\"}' http://127.0.0.1:3000/api/runs")]
pub struct ServeArgs {
    /// The port to listen on; 0 takes a free one
    #[arg(long, value_name = "PORT", default_value_t = 3000)]
    port: u16,
    /// The address to listen on. With an address that other machines reach, every request needs the token
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Also works on tasks: leases ready tasks until the server stops, as `ralph work` does
    #[arg(long)]
    work: bool,
    /// With --work, runs up to N tasks at the same time [built-in: 1]
    #[arg(long, value_name = "N", requires = "work", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    slots: Option<u32>,
    /// A name under which the server is addressed, for example by a proxy; repeat for more
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Prints an address that logs a browser in to the running server, and ends
    #[arg(long, conflicts_with = "print_token")]
    print_url: bool,
    /// Prints the token that orders need, and ends
    #[arg(long)]
    print_token: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub fn run(args: &ServeArgs) -> Result<u8, CommandError> {
    let project = Project::find_here()?;
    refuse_command_by_agent(&project, "serve the project that it works on, or read its token")?;
    let address = SocketAddr::new(args.host, args.port);
    if args.print_url || args.print_token {
        let printed = match args.print_url {
            true => create_login_url(&project, address),
            false => read_access_token(&project),
        };
        out::print_secret_line(&printed.map_err(|error| preflight_failed(&error))?);
        return Ok(0);
    }
    let worker = args.work.then(|| prepare_server_worker(&args.config, args.slots, &project)).transpose()?;
    let options = ServerOptions {
        worker,
        address,
        project: project.clone(),
        config: args.config.source(),
        words: CommandWords {
            hints: hints::for_error,
            inbox_commands: hints::for_inbox_answer,
            remedy: hints::for_loop_remedy,
        },
        worker_screen: create_worker_screen,
        allowed_hosts: args.allow_host.clone(),
    };
    with_keeper_and_threads(async |keeper| {
        let server = BoundServer::bind(options, keeper).await.map_err(bind_error)?;
        announce(&project, server.address())?;
        let signal =
            server.serve().await.map_err(|error| CommandError::from_error(exit_code::INTERNAL_ERROR, &error))?;
        Ok(RunEnd::interrupted_by_signal(signal).exit_code)
    })
}

/// Prints the address, and one that logs a browser in.
fn announce(project: &Project, address: SocketAddr) -> Result<(), CommandError> {
    out::print_line(&format!("http://{address}/"));
    let login = create_login_url(project, address).map_err(|error| preflight_failed(&error))?;
    out::print_secret_line(&format!("log in    {login}"));
    if !address.ip().is_loopback() {
        out::print_note("warning: other machines can reach this server, and the connection is not encrypted");
    }
    Ok(())
}

fn preflight_failed(error: &AccessTokenError) -> CommandError {
    CommandError::from_error(exit_code::PREFLIGHT_FAILED, error)
}

fn bind_error(error: ServerError) -> CommandError {
    let failure = CommandError::from_error(exit_code::PREFLIGHT_FAILED, &error);
    match error {
        ServerError::Config(error) => CommandError::from(error),
        ServerError::Bind { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
            failure.with_hint("another program uses this port: choose one with --port, or --port 0 for a free one")
        }
        ServerError::Bind { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            failure.with_hint("ports below 1024 need privileges: choose another one with --port")
        }
        ServerError::Bind { .. }
        | ServerError::Address { .. }
        | ServerError::Signals { .. }
        | ServerError::Token { .. }
        | ServerError::Worker(_) => failure,
    }
}
