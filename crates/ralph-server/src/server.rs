//! Listens, serves requests, and stops politely: open answers end, and every loop is asked to stop.
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use ralph_app::conversations::ConversationHub;
use ralph_app::error::AppError;
use ralph_app::notifications::{NotificationHost, Notifier};
use ralph_core::event::StopSignal;
use ralph_engine::run_driver::{SignalRequest, SignalStream};
use ralph_process::Keeper;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::api::ChangeWatcher;
use crate::connections::{AcceptLoop, ConnectionService};
use crate::context::{ServerContext, ServerOptions, ServerWorker, SharedContext};
use crate::driver::LoopDriver;
use crate::router::build_router;
use crate::security::{AccessTokenError, SecuritySettings};

#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}")]
    Bind { address: SocketAddr, source: io::Error },
    #[error("cannot read the address of the listener")]
    Address { source: io::Error },
    #[error("cannot listen to signals")]
    Signals { source: io::Error },
    #[error("cannot use the configuration: {0}")]
    Config(AppError),
    #[error("cannot start the worker: {0}")]
    Worker(AppError),
    #[error("the access token of the server cannot be used")]
    Token { source: AccessTokenError },
}

/// A server that listens and does not answer yet.
pub struct BoundServer {
    listener: TcpListener,
    address: SocketAddr,
    context: SharedContext,
    worker: Option<ServerWorker>,
    /// Sends notifications, if there is a target.
    notifier: Option<Arc<Notifier>>,
    /// Tells streams and connections that the server stops.
    stopping: watch::Sender<bool>,
}

impl BoundServer {
    /// Takes the port. `keeper` starts the agents of the runs that the server drives.
    pub async fn bind(options: ServerOptions, keeper: Keeper) -> Result<Self, ServerError> {
        let ServerOptions { address, project, config, words, worker, worker_screen, allowed_hosts } = options;
        let security = SecuritySettings::open(&project, address.ip(), allowed_hosts);
        let security = security.map_err(|source| ServerError::Token { source })?;
        let listener = TcpListener::bind(address).await.map_err(|source| ServerError::Bind { address, source })?;
        let address = listener.local_addr().map_err(|source| ServerError::Address { source })?;
        let settings = config.load_settings(Some(&project)).map_err(AppError::from).map_err(ServerError::Config)?;
        let conversations = ConversationHub::open(&project, &settings).map_err(ServerError::Config)?;
        let host = NotificationHost {
            commands: words.inbox_commands,
            terminal: None,
            server: (!address.ip().is_unspecified()).then(|| format!("http://{address}")),
        };
        let notifier = Notifier::open(&project, &settings, host);
        let driver = LoopDriver::new(keeper, config.clone(), project.clone(), Arc::clone(&conversations));
        let driver = Arc::new(driver);
        let (stopping, is_stopping) = watch::channel(false);
        let changes = Arc::new(ChangeWatcher::new(project.clone()));
        let (answers, orders) = (Arc::default(), Arc::default());
        let context = ServerContext {
            project,
            config,
            words,
            worker_screen,
            driver,
            security,
            answers,
            orders,
            changes,
            is_stopping,
            conversations,
        };
        Ok(Self { listener, address, context: Arc::new(context), worker, notifier, stopping })
    }

    /// Returns the address, with the port that was taken.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until a signal stops this process, then waits for the loops that it drives.
    pub async fn serve(self) -> Result<StopSignal, ServerError> {
        let Self { listener, address: _, context, worker, notifier, stopping } = self;
        let mut signals = SignalStream::listen().map_err(|source| ServerError::Signals { source })?;
        if let Some(ServerWorker { prepared, when_ended }) = worker {
            context.driver.start_worker(prepared, when_ended).await.map_err(ServerError::Worker)?;
        }
        let service = ConnectionService { router: build_router(Arc::clone(&context)) };
        let accept_loop = AcceptLoop::new(listener, service, context.is_stopping.clone());
        // They end with this function.
        let mut background = JoinSet::new();
        background.spawn(Arc::clone(&context.conversations).run());
        let notifier = notifier.map(Notifier::start);
        let serving = async {
            tokio::join!(accept_loop.run(), context.driver.resume_recorded_loops(), async {
                // A receiver without a sender cannot wait; the sender lives as long as this function.
                drop(context.is_stopping.clone().wait_for(|stops| *stops).await);
                drop(context.driver.wait_until_idle().await);
            });
        };
        tokio::pin!(serving);
        let mut stopped_by = StopSignal::Term;
        loop {
            tokio::select! {
                () = &mut serving => break,
                request = signals.next() => {
                    context.driver.forward_signal(request).await;
                    if let SignalRequest::Stop(signal) = request {
                        stopped_by = signal;
                        stopping.send_replace(true);
                    }
                }
            }
        }
        background.shutdown().await;
        if let Some(notifier) = notifier {
            notifier.finish().await;
        }
        Ok(stopped_by)
    }
}
